/**
 * List of frames, one line each, newest at the bottom. Only lines in view exist in the document. It
 * reports which frame was pressed and whether to follow the newest. Text of a client is inserted as
 * text, never as markup.
 *
 * @module inspector/list/list
 */

import { contentOf, factsOf, numberOf, titleOf as datagramTitle } from './datagram-row.js';
import { milliseconds } from './duration.js';
import { valuesOf } from './row-values.js';

/** Height of a line, unless the style sheet sets `--line-px`. */
const LINE_PX = 24;
/** Number of lines drawn beyond each edge of the view, so that scrolling shows no gap. */
const OVERSCAN_LINES = 6;
const MASKING_KEY_BYTES = 4;
/**
 * Maximum payload lengths of a header with 0, 2 and 8 bytes of extended length (RFC 6455, section
 * 5.2).
 */
const MAX_LENGTHS = [125, 0xffff, Infinity];
/** Maximum height of the box, px. Browsers truncate elements above 16 to 33 million px. */
const MAX_HEIGHT_PX = 8_000_000;

/** Formats a time of the server. @param {number} ms time of the server's clock */
export function formatTime(ms) {
  const seconds = (ms / 1000) % 60;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}:${seconds.toFixed(3).padStart(6, '0')}`;
}

/**
 * Formats the time between two lines, in ms, or in seconds from 10 s on.
 * @param {number} ms
 */
export const formatSince = (ms) => (ms < 10_000 ? `+${Math.max(0, ms).toFixed(0)}` : `+${(ms / 1000).toFixed(0)} s`);

/**
 * Returns the range of lines to draw: the lines in view and some beyond. After a filter change the
 * box may be scrolled past the last line.
 * @param {number} top px
 * @param {number} height px
 * @param {number} count number of lines
 * @param {number} [linePx] height of a line
 * @returns {[number, number]} first, and exclusive last
 */
export function linesAt(top, height, count, linePx = LINE_PX) {
  const first = Math.min(Math.max(0, Math.floor(top / linePx) - OVERSCAN_LINES), count);
  return [first, Math.min(count, first + Math.ceil(height / linePx) + 2 * OVERSCAN_LINES)];
}

export class FrameListView {
  /**
   * @param {HTMLElement} box scrolling element
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
    this.linePx = LINE_PX;
    /** Height of the view at the last measurement. */
    this.viewPx = 0;
    /** Whether lines show the number of their connection. */
    this.showsClient = false;
    /** Whether a frame has a bookmark. @type {(n: number) => boolean} */
    this.isMarked = () => false;
    this.height = document.createElement('div');
    this.height.className = 'height';
    this.lines = document.createElement('ol');
    this.height.append(this.lines);
    box.replaceChildren(this.height);
    box.addEventListener('scroll', () => this.draw());
    box.addEventListener('wheel', (event) => { if (event.deltaY < 0) this.on.unfollow(); }, { passive: true });
    box.addEventListener('pointerdown', (event) => this.pressed(event));
    new ResizeObserver(() => this.measure()).observe(box);
  }

  /** @param {PointerEvent} event */
  pressed(event) {
    const line = /** @type {HTMLElement} */ (event.target).closest('li');
    if (line) this.on.choose(Number(line.dataset.n));
    // A press outside the lines is a press on the scroll bar.
    else this.on.unfollow();
  }

  /**
   * Reads the height of a line from the style sheet, which depends on the size of the window. A
   * selected line that was in view stays in view.
   */
  measure() {
    const [before, wasInView] = [this.linePx, this.isInView(this.viewPx)];
    this.viewPx = this.box.clientHeight;
    this.linePx = Number.parseFloat(getComputedStyle(this.box).getPropertyValue('--line-px')) || LINE_PX;
    if (!this.follow && (this.linePx !== before || wasInView)) {
      this.drawNow();
      this.reveal(this.chosen);
    }
    this.draw();
  }

  /** Whether the selected line is in a view of this height. @param {number} heightPx */
  isInView(heightPx) {
    const px = this.frames.indexOf(this.chosen) * this.linePx - this.box.scrollTop * this.scale();
    return this.chosen !== 0 && px >= 0 && px < heightPx;
  }

  /** Schedules a redraw before the next frame. @param {number} [gone] lines removed at the front */
  draw(gone = 0) {
    // Keeps the viewed lines in place.
    if (gone > 0 && !this.follow) this.box.scrollTop -= gone * this.linePx;
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
    const [first, last] = linesAt(this.box.scrollTop * rows, this.box.clientHeight, visible, this.linePx);
    this.lines.style.top = `${this.box.scrollTop + first * this.linePx - this.box.scrollTop * rows}px`;
    while (this.lines.children.length > last - first) this.lines.lastChild?.remove();
    while (this.lines.children.length < last - first) this.lines.append(newLine());
    const start = Math.max(0, first - 1);
    const entries = this.frames.between(start, last);
    entries.slice(first - start).forEach((entry, at) => this.fill(/** @type {HTMLElement} */ (this.lines.children[at]), entry, entries[at + first - start - 1]));
  }

  /**
   * Returns the height of the list for a number of lines, limited to the maximum of browsers.
   * @param {number} lines
   */
  heightOf(lines) {
    return Math.min(lines * this.linePx, MAX_HEIGHT_PX);
  }

  /**
   * Returns by how many px the lines move for each px of scrolling. It exceeds 1 if the height of
   * the list is limited.
   */
  scale() {
    const [lines, box] = [this.frames.visible * this.linePx, this.box.clientHeight];
    return lines <= MAX_HEIGHT_PX ? 1 : (lines - box) / (MAX_HEIGHT_PX - box);
  }

  /**
   * Returns the first and the last frame in view.
   * @returns {{ first: import('./frames.js').Entry | undefined, last: import('./frames.js').Entry |
   *   undefined }}
   */
  visibleRange() {
    const top = this.box.scrollTop * this.scale();
    /** @param {number} px */
    const indexAt = (px) => Math.min(Math.max(Math.floor(px / this.linePx), 0), this.frames.visible - 1);
    return { first: this.frames.at(indexAt(top)), last: this.frames.at(indexAt(top + this.box.clientHeight - 1)) };
  }

  /**
   * @param {HTMLElement} line
   * @param {import('./frames.js').Entry} entry
   * @param {import('./frames.js').Entry} [before] entry of the line above
   */
  fill(line, entry, before) {
    line.classList.toggle('chosen', entry.n === this.chosen);
    line.classList.toggle('marked', this.isMarked(entry.n));
    const { datagram } = entry;
    const key = `${entry.n} ${before?.n} ${entry.rtt_ms ?? ''} ${entry.gap ?? ''} ${datagram ? JSON.stringify(datagram) : ''}`;
    if (line.dataset.key === key) return;
    line.dataset.key = key;
    line.dataset.n = String(entry.n);
    line.dataset.from = entry.from;
    line.dataset.packet = entry.packet ?? '';
    line.classList.toggle('bad', entry.rule !== null);
    line.classList.toggle('gap', entry.gap !== undefined);
    line.classList.toggle('injected', entry.injected === true || entry.mark?.name === 'substitute');
    line.classList.toggle('stopped', entry.mark?.name === 'dropped' || entry.mark?.name === 'changed');
    line.classList.toggle('datagram', datagram !== undefined);
    line.dataset.state = datagram?.state ?? (entry.gap === undefined ? '' : entry.opcode ?? '');
    const text = this.textOf(entry);
    line.title = titleOf(entry, text.full);
    const [time, since, tick, arrow, name, trip, bytes] = line.children;
    time.textContent = formatTime(entry.at_ms);
    since.textContent = before ? formatSince(entry.at_ms - before.at_ms) : '';
    tick.textContent = entry.gap === undefined && entry.tick > 0 ? String(entry.tick) : '';
    arrow.textContent = entry.gap !== undefined ? '' : entry.from === 'client' ? '↑' : '↓';
    if (datagram) name.replaceChildren(chip(numberOf(datagram)), contentOf(datagram, entry.rule));
    else name.replaceChildren(entry.gap ?? entry.packet ?? entry.rule ?? entry.opcode ?? 'bytes', ...(text.short === '' ? [] : [italic(text.short)]));
    const inflated = entry.inflated ?? (entry.compressed === undefined ? undefined : inflatedBytes(entry));
    const facts = [...markOf(entry), ...(inflated === undefined ? [] : [`${inflated} inflated`]), ...(datagram ? factsOf(datagram) : []), ...(entry.rtt_ms === undefined ? [] : [`⇄ ${milliseconds(entry.rtt_ms)}`]), ...(this.showsClient ? [`#${entry.client}`] : [])];
    trip.textContent = facts.join(' ');
    bytes.textContent = entry.gap === undefined ? String(entry.compressed ?? entry.bytes) : '';
  }

  /**
   * Returns the values of a line, and the whole text for its tooltip.
   * @param {import('./frames.js').Entry} entry
   */
  textOf(entry) {
    if (entry.gap !== undefined || entry.rule !== null) return { short: '', full: entry.line ?? '' };
    const { line = '', values = null } = this.frames.lineOf(entry.n);
    return { short: values ?? valuesOf(line, entry), full: values === null ? line : `${line}\n${values}` };
  }

  /** Clears the list for another source. */
  forget() {
    this.lines.replaceChildren();
    this.chosen = 0;
    this.box.scrollTop = 0;
  }

  /** Scrolls to a frame. @param {number} n */
  reveal(n) {
    const index = this.frames.indexOf(n);
    if (index < 0) return;
    const rows = this.scale();
    const [top, bottom] = [index * this.linePx, (index + 1) * this.linePx];
    const [from, to] = [this.box.scrollTop * rows, this.box.scrollTop * rows + this.box.clientHeight];
    if (top < from) this.box.scrollTop = top / rows;
    else if (bottom > to) this.box.scrollTop = (bottom - this.box.clientHeight) / rows;
  }
}

/**
 * Describes what a proxy did with a message.
 * @param {import('./frames.js').Entry} entry
 * @returns {string[]}
 */
export function markOf({ mark, injected }) {
  if (injected) return ['injected'];
  if (!mark) return [];
  const { name, ms, copies } = mark;
  return [{ delayed: `after ${ms} ms`, substitute: 'sent instead', repeated: `and ${copies} more` }[name] ?? name];
}

/**
 * Returns the size of a message that a proxy has inflated. The proxy stores the message in one
 * frame, whose header was never on the wire.
 * @param {import('./frames.js').Entry} entry
 */
export function inflatedBytes({ bytes, from }) {
  const rest = bytes - 2 - (from === 'client' ? MASKING_KEY_BYTES : 0);
  return [0, 2, 8].map((length) => rest - length).find((size, at) => size <= MAX_LENGTHS[at]) ?? rest;
}

/** Describes the size of an entry. @param {import('./frames.js').Entry} entry */
export function sizeOf(entry) {
  const bytes = entry.compressed === undefined ? entry.bytes : inflatedBytes(entry);
  return `${bytes} byte${bytes === 1 ? '' : 's'}${entry.compressed === undefined ? '' : `, ${entry.compressed} on the wire`}`;
}

/** @param {string} text */
function chip(text) {
  const made = document.createElement('b');
  made.textContent = text;
  return made;
}

/** @param {string} text */
function italic(text) {
  const made = document.createElement('i');
  made.textContent = text;
  return made;
}

/** @param {import('./frames.js').Entry} entry @param {string} text summary line */
function titleOf(entry, text) {
  if (entry.datagram) return datagramTitle({ ...entry, datagram: entry.datagram });
  if (entry.gap !== undefined) return entry.gap;
  if (entry.rtt_ms === undefined) return [text, entry.compressed === undefined ? '' : sizeOf(entry)].filter(Boolean).join(' · ');
  return `Frames ${entry.n} and ${entry.pair} are a ping and its pong, ${milliseconds(entry.rtt_ms)} apart at the server`;
}

function newLine() {
  const line = document.createElement('li');
  for (const kind of ['time', 'since', 'tick', 'arrow', 'name', 'trip', 'bytes']) {
    const cell = document.createElement('span');
    cell.className = kind;
    line.append(cell);
  }
  return line;
}
