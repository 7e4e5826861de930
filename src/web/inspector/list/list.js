/**
 * The list of frames: one line each, the newest below. Only the lines that are seen exist.
 *
 * Comes in: the frames to show, which one is chosen. Goes out: which one was pressed, and whether the newest is followed. Never: text
 * of a client as anything but text.
 *
 * @module inspector/list/list
 */

/** Height of a line, as in the style sheet. */
const LINE_PX = 24;
/** Lines beyond the edges, so that scrolling shows no gap. */
const OVERSCAN_LINES = 6;
/** The highest box: browsers cut off what is higher than some 16 or 33 million pixels. */
const MAX_HEIGHT_PX = 8_000_000;

/** @param {number} ms of the server's clock */
export function formatTime(ms) {
  const seconds = (ms / 1000) % 60;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}:${seconds.toFixed(3).padStart(6, '0')}`;
}

/**
 * Which lines exist: those that are seen and some beyond. Right after a filter a box may be scrolled past the end of its lines.
 * @param {number} top px @param {number} height px @param {number} count of all lines @returns {[number, number]} the first, and the one behind the last
 */
export function linesAt(top, height, count) {
  const first = Math.min(Math.max(0, Math.floor(top / LINE_PX) - OVERSCAN_LINES), count);
  return [first, Math.min(count, first + Math.ceil(height / LINE_PX) + 2 * OVERSCAN_LINES)];
}

export class FrameListView {
  /**
   * @param {HTMLElement} box that scrolls
   * @param {import('./frames.js').VisibleFrames} frames
   * @param {{ choose: (n: number) => void, unfollow: () => void }} on
   */
  constructor(box, frames, on) {
    this.box = box;
    this.frames = frames;
    this.on = on;
    this.follow = true;
    this.chosen = 0;
    this.asked = false;
    /** Whether each line says whose connection it is of. */
    this.showsClient = false;
    /** Whether a frame is marked. @type {(n: number) => boolean} */
    this.isMarked = () => false;
    this.height = document.createElement('div');
    this.height.className = 'height';
    this.lines = document.createElement('ol');
    this.height.append(this.lines);
    box.replaceChildren(this.height);
    box.addEventListener('scroll', () => this.draw());
    box.addEventListener('wheel', (event) => { if (event.deltaY < 0) this.on.unfollow(); }, { passive: true });
    box.addEventListener('pointerdown', (event) => this.pressed(event));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  /** @param {PointerEvent} event */
  pressed(event) {
    const line = /** @type {HTMLElement} */ (event.target).closest('li');
    if (line) this.on.choose(Number(line.dataset.n));
    // A press beside the lines is one on the bar that scrolls.
    else this.on.unfollow();
  }

  /** Draws before the next picture, however often it is asked. @param {number} [gone] lines that left at the front */
  draw(gone = 0) {
    // What one looks at stays where it is.
    if (gone > 0 && !this.follow) this.box.scrollTop -= gone * LINE_PX;
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.drawNow(); });
  }

  drawNow() {
    const { visible } = this.frames;
    const [rows, px] = [this.scale(), this.heightOf(visible)];
    const height = `${px}px`;
    if (this.height.style.height !== height) this.height.style.height = height;
    if (this.follow) this.box.scrollTop = px;
    const [first, last] = linesAt(this.box.scrollTop * rows, this.box.clientHeight, visible);
    this.lines.style.top = `${this.box.scrollTop + first * LINE_PX - this.box.scrollTop * rows}px`;
    while (this.lines.children.length > last - first) this.lines.lastChild?.remove();
    while (this.lines.children.length < last - first) this.lines.append(newLine());
    this.frames.between(first, last).forEach((entry, at) => this.fill(/** @type {HTMLElement} */ (this.lines.children[at]), entry));
  }

  /** Height of so many lines; browsers have no boxes of more than some million pixels. @param {number} lines */
  heightOf(lines) {
    return Math.min(lines * LINE_PX, MAX_HEIGHT_PX);
  }

  /** How far the lines move for each pixel that is scrolled: more than 1 in a list that is higher than a box can be. */
  scale() {
    const [lines, box] = [this.frames.visible * LINE_PX, this.box.clientHeight];
    return lines <= MAX_HEIGHT_PX ? 1 : (lines - box) / (MAX_HEIGHT_PX - box);
  }

  /** The frames at the edges of the box. @returns {{ first: import('./frames.js').Entry | undefined, last: import('./frames.js').Entry | undefined }} */
  visibleRange() {
    const top = this.box.scrollTop * this.scale();
    const place = (px) => Math.min(Math.max(Math.floor(px / LINE_PX), 0), this.frames.visible - 1);
    return { first: this.frames.at(place(top)), last: this.frames.at(place(top + this.box.clientHeight - 1)) };
  }

  /** @param {HTMLElement} line @param {import('./frames.js').Entry} entry */
  fill(line, entry) {
    line.classList.toggle('chosen', entry.n === this.chosen);
    line.classList.toggle('marked', this.isMarked(entry.n));
    const key = `${entry.n} ${entry.rtt_ms ?? ''}`;
    if (line.dataset.key === key) return;
    line.dataset.key = key;
    line.dataset.n = String(entry.n);
    line.dataset.from = entry.from;
    line.classList.toggle('bad', entry.rule !== null);
    line.classList.toggle('gap', entry.gap !== undefined);
    line.classList.toggle('injected', entry.injected === true);
    line.title = titleOf(entry);
    const [time, tick, arrow, name, trip, bytes] = line.children;
    time.textContent = formatTime(entry.at_ms);
    tick.textContent = entry.gap === undefined ? String(entry.tick) : '';
    arrow.textContent = entry.gap !== undefined ? '' : entry.from === 'client' ? '↑' : '↓';
    name.textContent = entry.gap ?? entry.packet ?? entry.rule ?? entry.opcode ?? 'bytes';
    const facts = [...(entry.rtt_ms === undefined ? [] : [`⇄ ${milliseconds(entry.rtt_ms)}`]), ...(this.showsClient ? [`#${entry.client}`] : [])];
    trip.textContent = facts.join(' ');
    bytes.textContent = entry.gap === undefined ? String(entry.bytes) : '';
  }

  /** Another list is shown: numbers mean other frames. */
  forget() {
    this.lines.replaceChildren();
    this.chosen = 0;
    this.box.scrollTop = 0;
  }

  /** Brings a frame into sight. @param {number} n */
  reveal(n) {
    const place = this.frames.indexOf(n);
    if (place < 0) return;
    const rows = this.scale();
    const [top, bottom] = [place * LINE_PX, (place + 1) * LINE_PX];
    const [from, to] = [this.box.scrollTop * rows, this.box.scrollTop * rows + this.box.clientHeight];
    if (top < from) this.box.scrollTop = top / rows;
    else if (bottom > to) this.box.scrollTop = (bottom - this.box.clientHeight) / rows;
  }
}

/** A short time, with as many digits as matter. @param {number} ms */
export function milliseconds(ms) {
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

/** @param {import('./frames.js').Entry} entry */
function titleOf(entry) {
  if (entry.rtt_ms === undefined) return entry.line ?? '';
  return `Frames ${entry.n} and ${entry.pair} are a ping and its pong, ${milliseconds(entry.rtt_ms)} apart at the server`;
}

function newLine() {
  const line = document.createElement('li');
  for (const kind of ['time', 'tick', 'arrow', 'name', 'trip', 'bytes']) {
    const cell = document.createElement('span');
    cell.className = kind;
    line.append(cell);
  }
  return line;
}
