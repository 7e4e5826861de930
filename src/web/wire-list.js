/**
 * The list of frames: one line each, the newest below. Only the lines that are seen exist.
 *
 * Comes in: the frames to show, which one is chosen. Goes out: which one was pressed, and whether the newest is followed. Never: text
 * of a client as anything but text.
 *
 * @module wire-list
 */

/** Height of a line, as in the style sheet. */
const LINE_PX = 24;
/** Lines beyond the edges, so that scrolling shows no gap. */
const BEYOND = 6;

/** @param {number} ms of the server's clock */
export function clock(ms) {
  const seconds = (ms / 1000) % 60;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}:${seconds.toFixed(3).padStart(6, '0')}`;
}

/**
 * Which lines exist: those that are seen and some beyond. Right after a filter a box may be scrolled past the end of its lines.
 * @param {number} top px @param {number} height px @param {number} count of all lines @returns {[number, number]} the first, and the one behind the last
 */
export function linesAt(top, height, count) {
  const first = Math.min(Math.max(0, Math.floor(top / LINE_PX) - BEYOND), count);
  return [first, Math.min(count, first + Math.ceil(height / LINE_PX) + 2 * BEYOND)];
}

export class List {
  /**
   * @param {HTMLElement} box that scrolls
   * @param {import('./wire-frames.js').Frames} frames
   * @param {{ choose: (n: number) => void, unfollow: () => void }} on
   */
  constructor(box, frames, on) {
    this.box = box;
    this.frames = frames;
    this.on = on;
    this.follow = true;
    this.chosen = 0;
    this.asked = false;
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
    const { seen } = this.frames;
    const height = `${seen.length * LINE_PX}px`;
    if (this.height.style.height !== height) this.height.style.height = height;
    if (this.follow) this.box.scrollTop = seen.length * LINE_PX;
    const [first, last] = linesAt(this.box.scrollTop, this.box.clientHeight, seen.length);
    this.lines.style.top = `${first * LINE_PX}px`;
    while (this.lines.children.length > last - first) this.lines.lastChild?.remove();
    while (this.lines.children.length < last - first) this.lines.append(newLine());
    for (let at = first; at < last; at += 1) this.fill(/** @type {HTMLElement} */ (this.lines.children[at - first]), seen[at]);
  }

  /** @param {HTMLElement} line @param {import('./wire-frames.js').Entry} entry */
  fill(line, entry) {
    line.classList.toggle('chosen', entry.n === this.chosen);
    if (line.dataset.n === String(entry.n)) return;
    line.dataset.n = String(entry.n);
    line.dataset.from = entry.from;
    line.classList.toggle('bad', entry.rule !== null);
    line.title = entry.line;
    const [time, tick, arrow, name, bytes] = line.children;
    time.textContent = clock(entry.at_ms);
    tick.textContent = String(entry.tick);
    arrow.textContent = entry.from === 'client' ? '↑' : '↓';
    name.textContent = entry.packet ?? entry.rule ?? entry.opcode ?? 'bytes';
    bytes.textContent = String(entry.bytes);
  }

  /** Brings a frame into sight. @param {number} n */
  reveal(n) {
    const place = this.frames.placeOf(n);
    if (place < 0) return;
    const [top, bottom] = [place * LINE_PX, (place + 1) * LINE_PX];
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight;
  }
}

function newLine() {
  const line = document.createElement('li');
  for (const kind of ['time', 'tick', 'arrow', 'name', 'bytes']) {
    const cell = document.createElement('span');
    cell.className = kind;
    line.append(cell);
  }
  return line;
}
