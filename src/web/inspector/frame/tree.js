/**
 * The tree of an explanation as the drawing needs it: its leaves, its rows, and what lies where.
 *
 * The tree comes from the explainer, which alone says what a byte means. From it come leaves that tile the bytes, rows to show, and the places of
 * the header's fields in a figure of 16 bits a row.
 *
 * @module inspector/frame/tree
 */

export const BYTE = 8;
/** Bits in a row of the figure: the header, two bytes a row. */
export const FIGURE_BITS = 16;
/** The leaf with which a container begins; the container's row speaks for it. */
const HEAD = 'head';
const HEADER_TINTS = { fin: 'flags', rsv1: 'flags', rsv2: 'flags', rsv3: 'flags', opcode: 'opcode', mask: 'mask', payload_length: 'length',
  extended_payload_length: 'length', masking_key: 'key' };
/** Colours for arguments; the next one begins again. */
export const TINTS = 6;

/**
 * @typedef {{ name: string, bits: [number, number], value: string, encoding: string, children: Node[] }} Node
 * @typedef {{ name: string, value: string, encoding: string, start: number, end: number, row: number, tint: string }} Leaf places in bits
 * @typedef {{ name: string, value: string, encoding: string, start: number, end: number, headEnd: number, depth: number, parent: number,
 *   last: number, parts: number, tint: string }} Row `last` is its last descendant, `headEnd` where its own bytes end
 */

/**
 * @typedef {{ kind: 'key' | 'masked' | 'plain' | 'unread' | 'next', start: number, end: number, masked: boolean, name: string }} Part places in
 *   bytes: the masking key, a payload, bytes that are not read, and a further frame
 */

/**
 * The bytes behind the header, part by part. What is not read is neither key nor payload.
 * @param {{ tree: Node, masked: boolean | null, start: number, end: number, line: string }[]} frames @param {boolean} isText whether these are
 *   the lines of a head
 * @returns {{ header: number, parts: Part[] }} where the header ends, and what follows
 */
export function partsOf(frames, isText) {
  const [first, ...rest] = frames;
  const parts = [];
  let header = isText ? 0 : first.start;
  if (isText) parts.push({ kind: 'plain', start: first.start, end: first.end, masked: false, name: 'bytes' });
  for (const { name, bits: [from, to] } of isText ? [] : first.tree.children) {
    const [start, end] = bytesOf(from, to);
    if (name === 'masking_key') parts.push({ kind: 'key', start, end, masked: false, name });
    else if (HEADER_TINTS[name]) header = end;
    else if (name === 'payload') parts.push({ kind: first.masked ? 'masked' : 'plain', start, end, masked: first.masked === true, name });
    else parts.push({ kind: 'unread', start, end, masked: false, name });
  }
  for (const { start, end, line } of rest) parts.push({ kind: 'next', start, end, masked: false, name: line });
  return { header, parts };
}

/**
 * Leaves in the order of the input, and rows in the order in which they are shown: the header, which is drawn above them, comes last.
 * @param {Node} tree of one frame @returns {{ leaves: Leaf[], rows: Row[] }}
 */
export function flattenTree(tree) {
  const laid = { leaves: /** @type {Leaf[]} */ ([]), rows: /** @type {Row[]} */ ([]) };
  const tintOf = (child) => HEADER_TINTS[child.name];
  for (const child of tree.children.filter((one) => !tintOf(one))) add(laid, child, 0, -1, 'code');
  for (const child of tree.children.filter(tintOf)) add(laid, child, 0, -1, tintOf(child));
  laid.leaves.sort((a, b) => a.start - b.start);
  return laid;
}

/** @param {{ leaves: Leaf[], rows: Row[] }} laid @param {Node} node @param {number} depth @param {number} parent @param {string} tint */
function add(laid, node, depth, parent, tint) {
  const head = node.children[0]?.name === HEAD ? node.children[0] : null;
  const { name, value, encoding } = node;
  const row = { name, value: value || (head?.value ?? ''), encoding: encoding || (head?.encoding ?? ''), start: node.bits[0], end: node.bits[1],
    headEnd: head ? head.bits[1] : node.children.length === 0 ? node.bits[1] : node.bits[0], depth, parent, last: 0, parts: node.children.length, tint };
  const at = laid.rows.push(row) - 1;
  if (head) leaf(laid, { ...head, name }, at, tint);
  if (node.children.length === 0) leaf(laid, node, at, tint);
  const isArguments = name === 'arguments' && tint === 'code';
  node.children.slice(head ? 1 : 0).forEach((child, index) => {
    add(laid, child, depth + 1, at, isArguments ? `a${index % TINTS}` : tint);
  });
  row.last = laid.rows.length - 1;
}

/** @param {{ leaves: Leaf[] }} laid @param {Node} node @param {number} row @param {string} tint */
function leaf(laid, { name, value, encoding, bits: [start, end] }, row, tint) {
  if (end > start) laid.leaves.push({ name, value, encoding, start, end, row, tint });
}

/** The leaf at a bit; -1 if there is none. @param {Leaf[]} leaves @param {number} bit */
export function leafAt(leaves, bit) {
  let [low, high] = [0, leaves.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (bit < leaves[middle].start) high = middle - 1;
    else if (bit >= leaves[middle].end) low = middle + 1;
    else return middle;
  }
  return -1;
}

/** Bytes that a range of bits touches, as a range. @param {number} start @param {number} end @returns {[number, number]} */
export const bytesOf = (start, end) => [Math.floor(start / BYTE), end > start ? Math.ceil(end / BYTE) : Math.floor(start / BYTE)];

/** Whether two ranges share anything. @param {{ start: number, end: number }} a @param {{ start: number, end: number }} b */
export const overlaps = (a, b) => a.start < b.end && b.start < a.end;

/**
 * Leaves cut where a row of the figure ends.
 * @param {Leaf[]} leaves @param {number} endBit nothing from here on
 * @returns {{ leaf: number, start: number, end: number, row: number, column: number, bits: number, main: boolean }[]} `main` is the widest
 *   part of its leaf, the first of them, which has room for the value
 */
export function segments(leaves, endBit) {
  const found = [];
  leaves.forEach((one, leaf) => {
    const parts = [];
    for (let start = one.start; start < Math.min(one.end, endBit);) {
      const row = Math.floor(start / FIGURE_BITS);
      const end = Math.min(one.end, endBit, (row + 1) * FIGURE_BITS);
      parts.push({ leaf, start, end, row, column: start % FIGURE_BITS, bits: end - start, main: false });
      start = end;
    }
    const widest = Math.max(...parts.map((part) => part.bits));
    const main = parts.find((part) => part.bits === widest);
    if (main) main.main = true;
    found.push(...parts);
  });
  return found;
}

/** Bytes of hexadecimal text. @param {string} text */
export const parseHex = (text) => Uint8Array.from({ length: text.length >> 1 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));

/** @param {number} byte */
export const hex = (byte) => byte.toString(16).padStart(2, '0');

/**
 * The bytes as they are meant: as they travel, with the payload unmasked in its place.
 * @param {Uint8Array} bytes as they travel @param {Uint8Array} payload unmasked; it ends where the frame ends
 */
export function unmaskedBytes(bytes, payload) {
  const whole = bytes.slice();
  if (payload.length > 0 && payload.length <= whole.length) whole.set(payload, whole.length - payload.length);
  return whole;
}

/** A bit of bytes: 0 or 1. @param {Uint8Array} bytes @param {number} bit */
export const bitAt = (bytes, bit) => (bytes[Math.floor(bit / BYTE)] >> (BYTE - 1 - (bit % BYTE))) & 1;

/**
 * Rows that begin closed: parts of parts, where there are more than fit a glance.
 * @param {Row[]} rows @param {number} most rows @returns {Set<number>}
 */
export function closedAtFirst(rows, most) {
  const closed = new Set();
  if (rows.length <= most) return closed;
  rows.forEach((row, at) => {
    if (row.last > at && row.depth >= 2 && /^\[\d+\]$/.test(row.name)) closed.add(at);
  });
  if (rows.length - [...closed].reduce((sum, at) => sum + rows[at].last - at, 0) <= most) return closed;
  rows.forEach((row, at) => { if (row.last - at > most / 4 && row.tint !== 'code') closed.add(at); });
  return closed;
}

/** Rows that are seen: those without a closed row above them. @param {Row[]} rows @param {Set<number>} closed @returns {number[]} */
export function openRows(rows, closed) {
  const seen = [];
  for (let at = 0; at < rows.length; at += 1) {
    seen.push(at);
    if (closed.has(at)) at = rows[at].last;
  }
  return seen;
}
