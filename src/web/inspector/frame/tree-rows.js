/**
 * Tree of a frame as table rows: name, value, encoding, bytes. Parents can be folded. It reports
 * the row under the pointer. Text of a client is inserted as text, never as markup.
 *
 * @module inspector/frame/tree-rows
 */

import { scrollTo } from './bit-diagram.js';
import { titleOf } from './value-title.js';
import { BYTE, bytesOf, closedAtFirst, hex, openRows, overlaps } from './tree.js';

/** Maximum number of initially open rows. In a larger tree, nested parts start folded. */
const OPEN_ROWS_LIMIT = 48;
/** Maximum number of bytes that a row shows. */
const MAX_ROW_BYTES = 9;

/** @typedef {{ start: number, end: number }} BitRange range in bits */

export class TreeRows {
  /**
   * @param {HTMLElement} table
   * @param {(range: BitRange | null, by: string) => void} onPoint
   * @param {(range: BitRange) => void} onPin
   */
  constructor(table, onPoint, onPin) {
    this.table = table;
    /** @type {import('./tree.js').Row[]} */
    this.rows = [];
    /** @type {Uint8Array} */
    this.bytes = new Uint8Array();
    /** @type {BitRange | null} */
    this.problem = null;
    /** Indices of folded rows. @type {Set<number>} */
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

  /** @param {Event} event @param {(range: BitRange) => void} onPin */
  pressed(event, onPin) {
    const row = this.rowOf(event);
    if (!row) return;
    const at = this.rows.indexOf(row);
    if (/** @type {HTMLElement} */ (event.target).closest('.fold') && row.last > at) {
      if (!this.closed.delete(at)) this.closed.add(at);
      this.draw();
    } else onPin(row);
  }

  /**
   * Shows a frame.
   * @param {import('./tree.js').Row[]} rows
   * @param {Uint8Array} bytes unmasked bytes
   * @param {BitRange | null} problem
   */
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
      if (kind === 'value') cell.title = titleOf(text);
    }
    this.shown.set(at, line);
    return line;
  }

  /**
   * Returns the bytes of a row in hexadecimal, or its bits in their positions.
   * @param {import('./tree.js').Row} row
   */
  raw(row) {
    if (row.headEnd <= row.start) return '';
    if ((row.headEnd - row.start) % BYTE !== 0) {
      const byte = this.bytes[Math.floor(row.start / BYTE)].toString(2).padStart(BYTE, '0');
      const [from, to] = [row.start % BYTE, row.start % BYTE + row.headEnd - row.start];
      return [...byte].map((bit, i) => (i >= from && i < to ? bit : '.')).join('');
    }
    const [from, to] = bytesOf(row.start, row.headEnd);
    const text = [...this.bytes.slice(from, Math.min(to, from + MAX_ROW_BYTES))].map(hex).join(' ');
    return to - from > MAX_ROW_BYTES ? `${text} …` : text;
  }

  /**
   * Highlights the rows in a range, and folded rows around it.
   * @param {BitRange | null} range
   * @param {string} kind CSS class
   */
  highlight(range, kind) {
    for (const [at, line] of this.shown) {
      const row = this.rows[at];
      const own = { start: row.start, end: this.closed.has(at) ? row.end : row.headEnd };
      const lit = range !== null && (overlaps(own, range) || (row.start === range.start && row.end === range.end));
      line.classList.toggle(kind, lit);
    }
  }

  /** Scrolls to the row of a range. @param {BitRange} range */
  reveal(range) {
    for (const [at, line] of this.shown) {
      const row = this.rows[at];
      if (overlaps({ start: row.start, end: this.closed.has(at) ? row.end : row.headEnd }, range)) {
        const box = this.table.closest('div');
        if (box) scrollTo(box, line);
        return;
      }
    }
  }
}
