/**
 * Draws the bytes after the header as lanes: the masking key, the payload as sent, the repeated key
 * below it, the unmasked payload, and the values. A byte has the same column in all lanes.
 *
 * @module inspector/frame/byte-lanes
 */

import { BYTE, bytesOf, hex, leafAt } from './tree.js';
import { keyByte } from './xor-stepper.js';

/** Bytes per row if the box is at least `WIDE_PX` wide. */
const WIDE = 16;
/** Bytes per row in a narrower box. */
const NARROW = 8;
/** Minimum width of the box for a row of sixteen bytes, px. */
const WIDE_PX = 560;
/** Maximum number of drawn bytes of a part. Of further bytes only the number is shown. */
const MAX_DRAWN_BYTES = 4096;
/** Maximum bytes of a payload whose values are drawn. */
const MAX_VALUE_BYTES = 64;
/** Number of successive letters that count as text. */
const LETTERS = 3;

/**
 * @typedef {{ bytes: Uint8Array, meant: Uint8Array, leaves: import('./tree.js').Leaf[], key:
 *   [number, number] | null, editable: boolean }} Source
 */

/**
 * Returns the bytes per row.
 * @param {number} length payload bytes
 * @param {number} px available width
 */
export function columnsFor(length, px) {
  const maxColumns = px >= WIDE_PX ? WIDE : NARROW;
  return length > 4 && length < maxColumns ? length : maxColumns;
}

/** Whether the bytes contain successive letters. @param {Uint8Array} bytes */
export function hasText(bytes) {
  let run = 0;
  return bytes.some((byte) => {
    run = (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a) ? run + 1 : 0;
    return run >= LETTERS;
  });
}

/** Returns the character of a byte, or a visible replacement. @param {number} byte */
export const sign = (byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : byte === 0x20 ? '␣' : '\u00a0');

/** Shortens a value to the width of a box: `90°` for `16384 turn16 = 90°`. @param {string} value */
const short = (value) => value.slice(value.lastIndexOf(' = ') < 0 ? 0 : value.lastIndexOf(' = ') + 3);

/** @param {string} kind @param {string} [text] */
function element(kind, text) {
  const made = document.createElement('div');
  made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Byte lanes of a frame. */
export class ByteLanes {
  /**
   * @param {HTMLElement} box
   * @param {(box: HTMLElement, start: number, end: number) => void} registerBox registers a box for
   *   a range of bits
   */
  constructor(box, registerBox) {
    this.box = box;
    this.registerBox = registerBox;
    this.columns = WIDE;
  }

  /** @param {Source} source @param {import('./tree.js').Part[]} parts */
  draw(source, parts) {
    this.columns = this.wanted(parts);
    this.box.style.setProperty('--columns', String(this.columns));
    this.box.replaceChildren(...parts.flatMap((part) => this.part(source, part)));
  }

  /** Returns the bytes per row for the current width. @param {import('./tree.js').Part[]} parts */
  wanted(parts) {
    const lengths = parts.filter(isContent).map((part) => part.end - part.start);
    return columnsFor(Math.max(0, ...lengths), this.box.clientWidth);
  }

  /** @param {Source} source @param {import('./tree.js').Part} part */
  part(source, part) {
    const lanes = [];
    const end = Math.min(part.end, part.start + MAX_DRAWN_BYTES);
    const text = part.kind !== 'unread' && part.kind !== 'next' && hasText(source.meant.subarray(part.start, part.end));
    const means = isContent(part) && part.name !== 'bytes' && part.end - part.start <= MAX_VALUE_BYTES;
    for (let from = part.start; from < end; from += this.columns) {
      const to = Math.min(from + this.columns, end);
      const block = { from, to, begin: part.start };
      if (part.masked) lanes.push(...this.masked(source, block));
      else lanes.push(this.lane(labelOf(part), part.kind === 'message' ? 'plain' : part.kind, block, source, (at) => source.bytes[at]));
      if (text) lanes.push(this.lane('as text', 'text', block, source, (at) => source.meant[at], sign));
      if (means) lanes.push(this.drawValues(source, block));
      lanes.at(-1)?.classList.add('ends');
    }
    if (part.kind === 'next') lanes.unshift(element('next', `A further frame: ${part.name}`));
    if (end < part.end) lanes.push(element('more', `${part.end - end} more bytes`));
    return lanes;
  }

  /** @param {Source} source @param {{ from: number, to: number, begin: number }} block */
  masked(source, block) {
    const [start, end] = source.key ?? [0, 0];
    const key = source.bytes.subarray(start, end);
    return [
      this.lane('as sent', 'sent', block, source, (at) => source.bytes[at]),
      this.lane('XOR key', 'again', block, source, (at) => keyByte(key, at - block.begin)),
      this.lane('unmasked', 'meant', block, source, (at) => source.meant[at]),
    ];
  }

  /**
   * @param {string} label
   * @param {string} kind
   * @param {{ from: number, to: number, begin: number }} block
   * @param {Source} source
   * @param {(at: number) => number} byte
   * @param {(byte: number) => string} [print]
   */
  lane(label, kind, { from, to, begin }, { leaves, editable }, byte, print = hex) {
    const lane = element(`lane ${kind}`);
    const name = element('label', label);
    if (from > begin) name.append(element('offset', `from byte ${from - begin}`));
    lane.append(name);
    for (let at = from; at < to; at += 1) {
      const leaf = leafAt(leaves, at * BYTE);
      const cell = element(`cell t-${leaf < 0 ? 'code' : leaves[leaf].tint}`, print(byte(at)));
      cell.dataset.at = String(at);
      if (editable && EDITABLE.has(kind)) cell.classList.add('editable');
      this.registerBox(cell, at * BYTE, (at + 1) * BYTE);
      lane.append(cell);
    }
    return lane;
  }

  /**
   * Draws a box for each value below its bytes.
   * @param {Source} source
   * @param {{ from: number, to: number }} block
   */
  drawValues({ leaves, bytes }, { from, to }) {
    const lane = element('lane means');
    lane.append(element('label', 'meaning'));
    for (const leaf of leaves) {
      // A byte that is split into bits has one box, drawn at its first bit.
      const isPartOfByte = leaf.end - leaf.start < BYTE;
      if (isPartOfByte && leaf.start % BYTE !== 0) continue;
      const [start, end] = bytesOf(leaf.start, leaf.end);
      const [left, right] = [Math.max(start, from), Math.min(end, to)];
      if (left >= right) continue;
      const box = element(`box t-${leaf.tint}`);
      box.style.gridColumn = `${left - from + 2} / span ${right - left}`;
      const [name, value] = isPartOfByte ? ['bits', bytes[start].toString(2).padStart(BYTE, '0')] : [leaf.name.replaceAll('_', ' '), short(leaf.value)];
      box.append(element('name', name), element('value', left === start ? value : '…'));
      box.title = isPartOfByte ? 'A bit for each command: 1 if it repeats the previous command' : `${leaf.name}: ${leaf.value}`;
      this.registerBox(box, isPartOfByte ? start * BYTE : leaf.start, isPartOfByte ? end * BYTE : leaf.end);
      lane.append(box);
    }
    return lane;
  }
}

/** Whether a part consists of values. @param {import('./tree.js').Part} part */
const isContent = ({ kind }) => kind === 'masked' || kind === 'plain' || kind === 'message';

/** @typedef {import('./tree.js').Part['kind']} PartKind */
/** @type {Readonly<Record<Exclude<PartKind, 'masked' | 'message'>, string>>} */
const NAMES = { key: 'masking key', plain: 'payload', unread: 'not read', next: '' };

/** Returns the label of a lane of bytes. @param {import('./tree.js').Part} part */
function labelOf({ kind, name, label }) {
  if (label !== undefined || kind === 'message') return label ?? name;
  return kind === 'masked' ? 'payload' : NAMES[kind];
}

const EDITABLE = new Set(['key', 'sent', 'plain', 'unread', 'next']);
