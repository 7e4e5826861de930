/**
 * Draws a frame: its header bit by bit, as in RFC 6455 section 5.2, and the bytes after it in
 * lanes.
 *
 * Each box stands for a range of bits, so that pointing at a part highlights it everywhere. Masked
 * payload bytes never appear under the label of unmasked ones.
 *
 * @module inspector/frame/bit-diagram
 */

import { ByteLanes } from './byte-lanes.js';
import { BYTE, FIGURE_BITS, bitAt, bytesOf, segments, overlaps } from './tree.js';

/** Field names as in the RFC. @type {Readonly<Record<string, string>>} */
const WORDS = { fin: 'FIN', rsv1: 'RSV1', rsv2: 'RSV2', rsv3: 'RSV3', mask: 'MASK', payload_length: 'payload length', extended_payload_length: 'length, extended' };

/** Creates a `div` with a class and a text. @param {string} kind @param {string} [text] */
export function element(kind, text) {
  const made = document.createElement('div');
  made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

/**
 * @typedef {{ start: number, end: number }} BitRange range in bits
 * @typedef {{ leaves: import('./tree.js').Leaf[], bytes: Uint8Array, meant: Uint8Array, header:
 *   number, parts: import('./tree.js').Part[], problem: BitRange | null, changed: number[],
 *   editable: boolean }} Drawn `header`: length of the header, bytes; `changed`: indices of the
 *   changed bits
 */

/**
 * Scrolls a box until an element inside is visible.
 * @param {HTMLElement} box
 * @param {HTMLElement} inside
 */
export function scrollTo(box, inside) {
  const [frame, part] = [box.getBoundingClientRect(), inside.getBoundingClientRect()];
  if (part.top < frame.top) box.scrollTop -= frame.top - part.top;
  else if (part.bottom > frame.bottom) box.scrollTop += part.bottom - frame.bottom;
}

export class BitDiagram {
  /**
   * @param {HTMLElement} figure
   * @param {HTMLElement} cells
   * @param {{ point: (range: BitRange | null, by: string) => void, pin: (range: BitRange) => void,
   *   bit: (bit: number) => void, byte: (at: number) => void, redrawn: () => void }} on callbacks
   *   for pointing at a part and for pressing it; `bit` is called only in an editable frame
   */
  constructor(figure, cells, on) {
    this.figure = figure;
    this.cells = cells;
    this.on = on;
    /** @type {Drawn | null} */
    this.drawn = null;
    /** @type {{ box: HTMLElement, start: number, end: number }[]} */
    this.places = [];
    this.lanes = new ByteLanes(cells, (box, start, end) => this.registerBox(box, start, end));
    for (const part of [figure, cells]) {
      part.addEventListener('pointerover', (event) => on.point(rangeOf(event), part.id));
      part.addEventListener('pointerleave', () => on.point(null, part.id));
      part.addEventListener('click', (event) => this.pressed(event));
    }
    new ResizeObserver(() => this.resized()).observe(cells);
  }

  /** @param {Event} event */
  pressed(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const [bit, cell] = [target.closest('[data-bit]'), target.closest('[data-at]')];
    if (this.drawn?.editable && bit instanceof HTMLElement) this.on.bit(Number(bit.dataset.bit));
    else if (cell instanceof HTMLElement) this.on.byte(Number(cell.dataset.at));
    if (this.drawn?.editable) return;
    const range = rangeOf(event);
    if (range) this.on.pin(range);
  }

  /** @param {Drawn} drawn */
  show(drawn) {
    this.drawn = drawn;
    this.places = [];
    this.drawHeader(drawn);
    this.drawLanes(drawn);
    for (const one of this.places) {
      if (drawn.problem) one.box.classList.toggle('bad', overlaps(one, drawn.problem));
      one.box.classList.toggle('changed', drawn.changed.some((bit) => one.start <= bit && bit < one.end));
    }
  }

  /** @param {Drawn} drawn */
  drawLanes({ bytes, meant, leaves, parts, editable }) {
    const key = parts.find((part) => part.kind === 'key');
    this.lanes.draw({ bytes, meant, leaves, key: key ? [key.start, key.end] : null, editable }, parts);
  }

  /** Redraws everything if the number of bytes per row changes. */
  resized() {
    if (!this.drawn || this.lanes.wanted(this.drawn.parts) === this.lanes.columns) return;
    this.show(this.drawn);
    this.on.redrawn();
  }

  clear() {
    this.drawn = null;
    this.places = [];
    this.figure.replaceChildren();
    this.cells.replaceChildren();
  }

  /** @param {Drawn} drawn */
  drawHeader({ leaves, bytes, header, changed, editable }) {
    this.figure.classList.toggle('editable', editable);
    const boxes = segments(leaves, header * BYTE).map((segment) => this.box(segment, leaves[segment.leaf], bytes, changed));
    this.figure.replaceChildren(...boxes);
  }

  /**
   * @param {ReturnType<typeof segments>[number]} segment
   * @param {import('./tree.js').Leaf} one
   * @param {Uint8Array} bytes
   * @param {number[]} changed
   */
  box(segment, one, bytes, changed) {
    const box = element(`box t-${one.tint}`);
    box.style.gridRow = String(segment.row + 1);
    box.style.gridColumn = `${segment.column + 1} / span ${segment.bits}`;
    const bits = element('bits');
    for (let bit = segment.start; bit < segment.end; bit += 1) {
      const digit = element('bit', String(bitAt(bytes, bit)));
      digit.dataset.bit = String(bit);
      digit.classList.toggle('changed', changed.includes(bit));
      bits.append(digit);
    }
    const name = WORDS[one.name] ?? one.name;
    const goesOn = segment.start > one.start;
    box.append(bits, element('name', goesOn ? `${name} goes on` : name), element('value', segment.main ? short(one) : ''));
    if (goesOn) box.classList.add('from');
    if (segment.end < one.end) box.classList.add('to');
    box.title = `${one.name}: ${one.value}`;
    this.registerBox(box, one.start, one.end);
    return box;
  }

  /** @param {HTMLElement} box @param {number} start @param {number} end */
  registerBox(box, start, end) {
    box.dataset.start = String(start);
    box.dataset.end = String(end);
    this.places.push({ box, start, end });
  }

  /**
   * Highlights the boxes that overlap a range.
   * @param {BitRange | null} range
   * @param {string} kind CSS class
   */
  highlight(range, kind) {
    for (const one of this.places) one.box.classList.toggle(kind, range !== null && overlaps(one, range));
  }

  /** Scrolls to the bytes of a range. @param {BitRange} range */
  reveal(range) {
    const [first] = bytesOf(range.start, range.end);
    const cell = this.places.find((one) => one.start === first * BYTE && one.box.classList.contains('cell'));
    const box = this.cells.parentElement;
    if (cell && box) scrollTo(box, cell.box);
  }
}

/** @param {Event} event @returns {BitRange | null} */
function rangeOf(event) {
  const box = /** @type {HTMLElement} */ (event.target).closest('[data-start]');
  return box instanceof HTMLElement ? { start: Number(box.dataset.start), end: Number(box.dataset.end) } : null;
}

/** Texts of the bit FIN by its value. @type {Readonly<Record<string, string>>} */
const FIN_TEXTS = { 0: 'goes on', 1: 'last' };

/** Shortens a value to the width of a box. @param {{ name: string, value: string }} leaf */
function short({ name, value }) {
  if (name === 'fin') return FIN_TEXTS[value[0]] ?? 'unused';
  if (['rsv1', 'rsv2', 'rsv3'].includes(name)) return value.startsWith('1') ? 'set' : 'unused';
  if (name === 'mask') return value.startsWith('1') ? 'masked' : 'off';
  if (name === 'payload_length') return /^\d+$/.test(value) ? `${value} byte${value === '1' ? '' : 's'}` : value.replace(': the length follows in', ':');
  return value;
}
