/**
 * Flattens the tree of an explanation for drawing: leaves that tile the bytes, rows of the table,
 * and header fields in a diagram of 16 bits per row.
 *
 * @module inspector/frame/tree
 */

export const BYTE = 8;
/** Bits per row of the diagram: two bytes of the header. */
export const FIGURE_BITS = 16;
/**
 * Name of the leaf at the start of a container. It has no row of its own: the row of the container
 * shows it.
 */
const HEAD = 'head';
/** Name of punctuation between values. It has no row of its own within a container either. */
const PUNCTUATION = 'sign';
/** Colours of header fields. @type {Readonly<Record<string, string | undefined>>} */
const HEADER_TINTS = { fin: 'flags', rsv1: 'flags', rsv2: 'flags', rsv3: 'flags', opcode: 'opcode', mask: 'mask', payload_length: 'length',
  extended_payload_length: 'length', masking_key: 'key' };
/**
 * Colours of the header fields of a datagram.
 * @type {Readonly<Record<string, string | undefined>>}
 */
const DATAGRAM_TINTS = { connection: 'flags', sequence: 'opcode', newest: 'mask', received: 'key' };
/** Name of the root node of a datagram. */
const DATAGRAM = 'datagram';
/** Length of the header of a datagram, bits. */
const DATAGRAM_HEADER_BITS = 12 * BYTE;
/** Number of argument colours, which repeat. */
export const TINTS = 6;

/**
 * @typedef {{ name: string, bits: [number, number], value: string,
 *   raw?: string | number | boolean | null, encoding: string, children: Node[] }} Node
 * @typedef {{ name: string, value: string, encoding: string, start: number, end: number, row:
 *   number, tint: string }} Leaf `start` and `end` in bits
 * @typedef {{ name: string, value: string, encoding: string, start: number, end: number, headEnd:
 *   number, depth: number, parent: number, last: number, parts: number, tint: string }} Row `last`:
 *   index of the last descendant; `headEnd`: end of the bits that belong to no descendant
 */

/**
 * @typedef {{ kind: 'key' | 'masked' | 'plain' | 'message' | 'unread' | 'next', start: number,
 *   end: number, masked: boolean, name: string, label?: string }} Part range in bytes: masking key,
 *   payload, message of a datagram, unread bytes, or a further frame; `label`: label of its lane
 */

/**
 * Returns the colour of a header field; undefined for other fields.
 * @param {Node} tree
 * @param {Node} child
 */
function headerTint(tree, { name, bits: [start] }) {
  if (tree.name !== DATAGRAM) return HEADER_TINTS[name];
  return start < DATAGRAM_HEADER_BITS ? DATAGRAM_TINTS[name] : undefined;
}

/**
 * Returns the parts after the header. Unread bytes are neither key nor payload.
 * @param {{ tree: Node, masked: boolean | null, start: number, end: number, line: string }[]}
 *   frames
 * @param {boolean} isText whether the bytes are an HTTP head
 * @returns {{ header: number, parts: Part[] }} end of the header, and the parts after it
 */
export function partsOf(frames, isText) {
  const [first, ...rest] = frames;
  /** @type {Part[]} */
  const parts = [];
  let header = isText ? 0 : first.start;
  if (isText) parts.push({ kind: 'plain', start: first.start, end: first.end, masked: false, name: 'bytes' });
  for (const child of isText ? [] : first.tree.children) {
    const { name, bits: [from, to] } = child;
    const [start, end] = bytesOf(from, to);
    if (name === 'masking_key') parts.push({ kind: 'key', start, end, masked: false, name });
    else if (headerTint(first.tree, child)) header = end;
    else if (first.tree.name === DATAGRAM && name !== 'rest') parts.push({ kind: 'message', start, end, masked: false, name });
    else if (name === 'payload') parts.push({ kind: first.masked ? 'masked' : 'plain', start, end, masked: first.masked === true, name });
    else parts.push({ kind: 'unread', start, end, masked: false, name });
  }
  for (const { start, end, line } of rest) parts.push({ kind: 'next', start, end, masked: false, name: line });
  return { header, parts };
}

/**
 * Returns the leaves in order of the bytes, and the rows in order of display: the header comes
 * last, because the diagram shows it.
 * @param {Node} tree tree of a frame
 * @returns {{ leaves: Leaf[], rows: Row[] }}
 */
export function flattenTree(tree) {
  const laid = { leaves: /** @type {Leaf[]} */ ([]), rows: /** @type {Row[]} */ ([]) };
  for (const child of tree.children) if (!headerTint(tree, child)) add(laid, child, 0, -1, 'code');
  for (const child of tree.children) {
    const tint = headerTint(tree, child);
    if (tint) add(laid, child, 0, -1, tint);
  }
  laid.leaves.sort((a, b) => a.start - b.start);
  return laid;
}

/**
 * @param {{ leaves: Leaf[], rows: Row[] }} laid
 * @param {Node} node
 * @param {number} depth
 * @param {number} parent
 * @param {string} tint
 */
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
    if (child.name === PUNCTUATION) leaf(laid, child, at, tint);
    else add(laid, child, depth + 1, at, isArguments ? `a${index % TINTS}` : tint);
  });
  row.last = laid.rows.length - 1;
}

/** @param {{ leaves: Leaf[] }} laid @param {Node} node @param {number} row @param {string} tint */
function leaf(laid, { name, value, encoding, bits: [start, end] }, row, tint) {
  if (end > start) laid.leaves.push({ name, value, encoding, start, end, row, tint });
}

/** Returns the leaf at a bit; -1 if there is none. @param {Leaf[]} leaves @param {number} bit */
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

/**
 * Returns the range of bytes that overlaps a range of bits.
 * @param {number} start
 * @param {number} end
 * @returns {[number, number]}
 */
export const bytesOf = (start, end) => [Math.floor(start / BYTE), end > start ? Math.ceil(end / BYTE) : Math.floor(start / BYTE)];

/**
 * Whether two ranges overlap.
 * @param {{ start: number, end: number }} a
 * @param {{ start: number, end: number }} b
 */
export const overlaps = (a, b) => a.start < b.end && b.start < a.end;

/**
 * @typedef {{ leaf: number, start: number, end: number, row: number, column: number, bits: number,
 *   main: boolean }} Segment `main`: whether it is the first widest segment of its leaf, which
 *   shows the value
 */

/**
 * Splits the leaves at the row ends of the diagram.
 * @param {Leaf[]} leaves
 * @param {number} endBit end of the diagram
 * @returns {Segment[]}
 */
export function segments(leaves, endBit) {
  /** @type {Segment[]} */
  const found = [];
  leaves.forEach((one, leaf) => {
    /** @type {Segment[]} */
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

/** Parses hexadecimal text. @param {string} text */
export const parseHex = (text) => Uint8Array.from({ length: text.length >> 1 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));

/** Formats a byte as two hexadecimal digits. @param {number} byte */
export const hex = (byte) => byte.toString(16).padStart(2, '0');

/**
 * Returns the bytes with the unmasked payload.
 * @param {Uint8Array} bytes sent bytes
 * @param {Uint8Array} payload unmasked payload; its last byte is the last of the frame
 */
export function unmaskedBytes(bytes, payload) {
  const whole = bytes.slice();
  if (payload.length > 0 && payload.length <= whole.length) whole.set(payload, whole.length - payload.length);
  return whole;
}

/** Returns a bit: 0 or 1. @param {Uint8Array} bytes @param {number} bit */
export const bitAt = (bytes, bit) => (bytes[Math.floor(bit / BYTE)] >> (BYTE - 1 - (bit % BYTE))) & 1;

/**
 * Returns the indices of the rows that start folded: nested parts, if there are more than `maxRows`
 * rows.
 * @param {Row[]} rows
 * @param {number} maxRows maximum number of open rows
 * @returns {Set<number>}
 */
export function closedAtFirst(rows, maxRows) {
  const closed = new Set();
  if (rows.length <= maxRows) return closed;
  rows.forEach((row, at) => {
    if (row.last > at && row.depth >= 2 && /^\[\d+\]$/.test(row.name)) closed.add(at);
  });
  if (rows.length - [...closed].reduce((sum, at) => sum + rows[at].last - at, 0) <= maxRows) return closed;
  rows.forEach((row, at) => { if (row.last - at > maxRows / 4 && row.tint !== 'code') closed.add(at); });
  return closed;
}

/**
 * Returns the indices of the visible rows. Descendants of a folded row are not visible.
 * @param {Row[]} rows
 * @param {Set<number>} closed
 * @returns {number[]}
 */
export function openRows(rows, closed) {
  const open = [];
  for (let at = 0; at < rows.length; at += 1) {
    open.push(at);
    if (closed.has(at)) at = rows[at].last;
  }
  return open;
}
