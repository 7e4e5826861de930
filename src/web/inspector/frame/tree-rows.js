/**
 * The tree of a frame as rows: name, value, encoding, bytes. Parents open and close.
 *
 * Comes in: rows in their order. Goes out: what is pointed at. Never: text of a client as anything but text.
 *
 * @module inspector/frame/tree-rows
 */

import { scrollTo } from './bit-diagram.js';
import { BYTE, bytesOf, closedAtFirst, hex, openRows, overlaps } from './tree.js';

/** Rows that fit a glance: where there are more, parts of parts begin closed. */
const OPEN_ROWS_LIMIT = 48;
/** Bytes of a value that its row shows. */
const BYTES_SHOWN = 9;

/** @typedef {{ start: number, end: number }} Place in bits */

export class TreeRows {
  /** @param {HTMLElement} table @param {(place: Place | null, by: string) => void} onPoint @param {(place: Place) => void} onPin */
  constructor(table, onPoint, onPin) {
    this.table = table;
    /** @type {import('./tree.js').Row[]} */
    this.rows = [];
    this.bytes = new Uint8Array();
    /** @type {Place | null} */
    this.problem = null;
    /** Rows that are closed, by place. @type {Set<number>} */
    this.closed = new Set();
    /** @type {Map<number, HTMLElement>} */
    this.shown = new Map();
    table.addEventListener('pointerover', (event) => onPoint(this.rowOf(event), table.id));
    table.addEventListener('pointerleave', () => onPoint(null, table.id));
    table.addEventListener('click', (event) => this.pressed(event, onPin));
  }

  /** @param {Event} event */
  rowOf(event) {
    const line = /** @type {HTMLElement} */ (event.target).closest('[data-row]');
    return line instanceof HTMLElement ? this.rows[Number(line.dataset.row)] : null;
  }

  /** @param {Event} event @param {(place: Place) => void} onPin */
  pressed(event, onPin) {
    const row = this.rowOf(event);
    if (!row) return;
    const at = this.rows.indexOf(row);
    if (/** @type {HTMLElement} */ (event.target).closest('.fold') && row.last > at) {
      if (!this.closed.delete(at)) this.closed.add(at);
      this.draw();
    } else onPin(row);
  }

  /** @param {import('./tree.js').Row[]} rows @param {Uint8Array} bytes as they are meant @param {Place | null} problem */
  show(rows, bytes, problem) {
    this.rows = rows;
    this.bytes = bytes;
    this.problem = problem;
    this.closed = closedAtFirst(rows, OPEN_ROWS_LIMIT);
    this.draw();
  }

  clear() {
    this.rows = [];
    this.draw();
  }

  draw() {
    this.shown.clear();
    const lines = openRows(this.rows, this.closed).map((at) => this.line(at));
    this.table.replaceChildren(...lines);
  }

  /** @param {number} at */
  line(at) {
    const row = this.rows[at];
    const line = document.createElement('tr');
    line.dataset.row = String(at);
    line.className = `t-${row.tint}`;
    if (this.problem && row.last === at && overlaps(row, this.problem)) line.classList.add('bad');
    const name = line.insertCell();
    name.className = 'name';
    name.style.setProperty('--depth', String(row.depth));
    const fold = document.createElement('span');
    fold.className = 'fold';
    fold.textContent = row.last === at ? '' : this.closed.has(at) ? '▸' : '▾';
    const label = document.createElement('span');
    label.textContent = row.name;
    name.append(fold, label);
    for (const [kind, text] of [['value', row.value], ['encoding', row.encoding], ['raw', this.raw(row)]]) {
      const cell = line.insertCell();
      cell.className = kind;
      cell.textContent = text;
      if (kind === 'value') cell.title = text;
    }
    this.shown.set(at, line);
    return line;
  }

  /** Its own bytes in hexadecimal, or its bits in their places. @param {import('./tree.js').Row} row */
  raw(row) {
    if (row.headEnd <= row.start) return '';
    if ((row.headEnd - row.start) % BYTE !== 0) {
      const byte = this.bytes[Math.floor(row.start / BYTE)].toString(2).padStart(BYTE, '0');
      const [from, to] = [row.start % BYTE, row.start % BYTE + row.headEnd - row.start];
      return [...byte].map((bit, i) => (i >= from && i < to ? bit : '.')).join('');
    }
    const [from, to] = bytesOf(row.start, row.headEnd);
    const text = [...this.bytes.slice(from, Math.min(to, from + BYTES_SHOWN))].map(hex).join(' ');
    return to - from > BYTES_SHOWN ? `${text} …` : text;
  }

  /** Lights up the rows of a place: those that lie in it, and closed ones around it. @param {Place | null} place @param {string} kind */
  highlight(place, kind) {
    for (const [at, line] of this.shown) {
      const row = this.rows[at];
      const own = { start: row.start, end: this.closed.has(at) ? row.end : row.headEnd };
      const lit = place !== null && (overlaps(own, place) || (row.start === place.start && row.end === place.end));
      line.classList.toggle(kind, lit);
    }
  }

  /** Brings the row of a place into sight. @param {Place} place */
  reveal(place) {
    for (const [at, line] of this.shown) {
      const row = this.rows[at];
      if (overlaps({ start: row.start, end: this.closed.has(at) ? row.end : row.headEnd }, place)) {
        const box = this.table.closest('div');
        if (box) scrollTo(box, line);
        return;
      }
    }
  }
}
