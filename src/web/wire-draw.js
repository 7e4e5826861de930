/**
 * A frame drawn bit by bit, as in RFC 6455 section 5.2, and all its bytes below.
 *
 * Comes in: leaves that tile the bytes, the bytes. Goes out: boxes and cells, each with the place that it stands for, so that whatever is pointed at
 * can light up the others. Never: a judgement on the bytes; that is the explainer's.
 *
 * @module wire-draw
 */

import { BYTE, FIGURE_BITS, bitAt, bytesOf, hex, leafAt, segments, touch } from './wire-tree.js';

/** Rows of the figure; what is longer goes on in the bytes below. */
const FIGURE_ROWS = 8;
/** Bytes in a row of the bytes below. */
const CELLS = 16;
/** Bytes that are shown there. */
const CELLS_MOST = 4096;
/** Bits below which a box is too narrow for its name, unless that stands upright. */
const UPRIGHT_BITS = 2;
const WORDS = { payload_length: 'payload len', masking_key: 'masking key' };

/** @param {string} kind @param {string} [text] */
export function element(kind, text) {
  const made = document.createElement('div');
  made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

/**
 * @typedef {{ start: number, end: number }} Place in bits
 * @typedef {{ leaves: import('./wire-tree.js').Leaf[], bytes: Uint8Array, meant: Uint8Array, masked: boolean, problem: Place | null }} Drawn
 */

/** Scrolls a box, and nothing around it, until something in it is seen. @param {HTMLElement} box @param {HTMLElement} inside */
export function scrollTo(box, inside) {
  const [frame, part] = [box.getBoundingClientRect(), inside.getBoundingClientRect()];
  if (part.top < frame.top) box.scrollTop -= frame.top - part.top;
  else if (part.bottom > frame.bottom) box.scrollTop += part.bottom - frame.bottom;
}

export class Drawing {
  /**
   * @param {HTMLElement} figure @param {HTMLElement} cells
   * @param {(place: Place | null, by: string) => void} onPoint what is pointed at
   * @param {(place: Place) => void} onPin what was pressed
   */
  constructor(figure, cells, onPoint, onPin) {
    this.figure = figure;
    this.cells = cells;
    /** @type {Drawn} */
    this.drawn = { leaves: [], bytes: new Uint8Array(), meant: new Uint8Array(), masked: false, problem: null };
    /** Whether the bits of a masked payload are shown as they are meant. */
    this.isUnmasked = false;
    /** @type {{ box: HTMLElement, start: number, end: number }[]} */
    this.places = [];
    for (const part of [figure, cells]) {
      part.addEventListener('pointerover', (event) => onPoint(placeOf(event), part.id));
      part.addEventListener('pointerleave', () => onPoint(null, part.id));
      part.addEventListener('click', (event) => { const place = placeOf(event); if (place) onPin(place); });
    }
  }

  /** @param {Drawn} drawn */
  show(drawn) {
    this.drawn = drawn;
    this.places = [];
    this.drawFigure();
    this.drawCells();
    if (drawn.problem) for (const one of this.places) one.box.classList.toggle('bad', touch(one, drawn.problem));
  }

  clear() {
    this.places = [];
    this.figure.replaceChildren();
    this.cells.replaceChildren();
  }

  drawFigure() {
    const { leaves, bytes } = this.drawn;
    const bits = bytes.length * BYTE;
    const end = Math.min(bits, FIGURE_ROWS * FIGURE_BITS);
    const boxes = segments(leaves, end).map((segment) => this.box(segment));
    const more = (bits - end) / BYTE;
    if (more > 0) {
      const rest = element('more', `${more} more byte${more === 1 ? '' : 's'} below`);
      rest.style.gridRow = String(FIGURE_ROWS + 2);
      boxes.push(rest);
    }
    this.figure.replaceChildren(...ruler(), ...boxes);
  }

  /** @param {ReturnType<typeof segments>[number]} segment */
  box(segment) {
    const { leaves } = this.drawn;
    const bytes = this.isUnmasked ? this.drawn.meant : this.drawn.bytes;
    const one = leaves[segment.leaf];
    const box = element(`box t-${one.tint}`);
    box.style.gridRow = String(segment.row + 2);
    box.style.gridColumn = `${segment.column + 1} / span ${segment.bits}`;
    const bits = element('bits');
    for (let bit = segment.start; bit < segment.end; bit += 1) bits.append(element('', String(bitAt(bytes, bit))));
    const upright = segment.bits < UPRIGHT_BITS;
    const name = WORDS[one.name] ?? one.name;
    const goesOn = segment.start > one.start;
    const label = element(upright ? 'name upright' : 'name', goesOn ? `${name} goes on` : name);
    box.append(bits, label);
    if (!upright) box.append(element('value', segment.main ? short(one) : ''));
    if (goesOn) box.classList.add('from');
    if (segment.end < one.end) box.classList.add('to');
    box.title = `${one.name}: ${one.value}`;
    this.place(box, one.start, one.end);
    return box;
  }

  drawCells() {
    const { bytes, meant, masked, leaves } = this.drawn;
    const shown = Math.min(bytes.length, CELLS_MOST);
    const cells = [];
    this.cells.classList.toggle('masked', masked);
    for (let at = 0; at < shown; at += 1) {
      if (at % CELLS === 0) cells.push(element('offset', String(at)));
      const leaf = leafAt(leaves, at * BYTE);
      const cell = element(`cell t-${leaf < 0 ? 'code' : leaves[leaf].tint}`);
      if (masked) cell.append(element('travels', hex(bytes[at])));
      cell.append(element('meant', hex(meant[at])), element('sign', sign(meant[at])));
      this.place(cell, at * BYTE, (at + 1) * BYTE);
      cells.push(cell);
    }
    if (bytes.length > shown) cells.push(element('more', `${bytes.length - shown} more bytes`));
    this.cells.replaceChildren(...cells);
  }

  /** @param {HTMLElement} box @param {number} start @param {number} end */
  place(box, start, end) {
    box.dataset.start = String(start);
    box.dataset.end = String(end);
    this.places.push({ box, start, end });
  }

  /** Lights up what a place touches. @param {Place | null} place @param {string} kind of light */
  light(place, kind) {
    for (const one of this.places) one.box.classList.toggle(kind, place !== null && touch(one, place));
  }

  /** Brings the bytes of a place into sight. @param {Place} place */
  reveal(place) {
    const [first] = bytesOf(place.start, place.end);
    const cell = this.places.find((one) => one.start === first * BYTE && one.box.classList.contains('cell'));
    const box = this.cells.parentElement;
    if (cell && box) scrollTo(box, cell.box);
  }
}

/** @param {Event} event @returns {Place | null} */
function placeOf(event) {
  const box = /** @type {HTMLElement} */ (event.target).closest('[data-start]');
  return box instanceof HTMLElement ? { start: Number(box.dataset.start), end: Number(box.dataset.end) } : null;
}

/** The numbers of the bits, tens above ones. */
function ruler() {
  return Array.from({ length: FIGURE_BITS }, (_, bit) => {
    const mark = element('mark', bit % 10 === 0 ? `${bit / 10}\n0` : `\n${bit % 10}`);
    mark.style.gridColumn = String(bit + 1);
    return mark;
  });
}

/** A value as a box has room for it: without what it means. @param {{ name: string, value: string }} leaf */
function short({ name, value }) {
  if (['mask', 'fin', 'rsv1', 'rsv2', 'rsv3'].includes(name)) return value.split(',')[0];
  return value;
}

/** @param {number} byte */
const sign = (byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : byte === 0x20 ? '␣' : '\u00a0');
