/**
 * A frame that is being edited: its bytes, what differs from the ones that travelled, and the flips that the page suggests.
 *
 * Where a field lies comes from the explainer's tree, and so does the verdict on the edited bytes; here bits are only turned over.
 *
 * @module inspector/frame/edit
 */

import { BYTE, bitAt } from './tree.js';

/** Bits of a wrong length in one example: the most that 16 bits can say, which is more than the server takes in a message. */
const LONG = [0xff, 0xff];
/** The value of the length that says that 16 bits of length follow (RFC 6455 section 5.2). */
const LENGTH_IN_16 = 126;
const HALF_TURN = 0x8000;
const TURN = 0x10000;

/** See the module. */
export class Edit {
  /** @param {Uint8Array} original bytes as they travelled */
  constructor(original) {
    this.original = original.slice();
    this.bytes = original.slice();
  }

  /** @param {number} bit from the front */
  flip(bit) {
    if (bit < 0 || bit >= this.bytes.length * BYTE) return;
    this.bytes = this.bytes.slice();
    this.bytes[Math.floor(bit / BYTE)] ^= 1 << (BYTE - 1 - (bit % BYTE));
  }

  /** @param {number} at @param {number} value */
  set(at, value) {
    if (at < 0 || at >= this.bytes.length || !(value >= 0 && value <= 0xff)) return;
    this.bytes = this.bytes.slice();
    this.bytes[at] = value;
  }

  /** @param {Uint8Array} bytes */
  replace(bytes) {
    this.bytes = bytes.slice();
  }

  undo() {
    this.bytes = this.original.slice();
  }

  get isChanged() {
    return this.bytes.length !== this.original.length || this.bytes.some((byte, at) => byte !== this.original[at]);
  }

  /** Bits that differ; null if the frame has another length, so that its bits have no counterparts. @returns {number[] | null} */
  differing() {
    if (this.bytes.length !== this.original.length) return null;
    const bits = [];
    for (let bit = 0; bit < this.bytes.length * BYTE; bit += 1) if (bitAt(this.bytes, bit) !== bitAt(this.original, bit)) bits.push(bit);
    return bits;
  }
}

/** A byte of two hexadecimal digits; null if the text is none. @param {string} text */
export function hexByte(text) {
  return /^[0-9a-f]{1,2}$/i.test(text.trim()) ? Number.parseInt(text, 16) : null;
}

/** Sets the bits of a place to a number. @param {Uint8Array} bytes @param {[number, number]} place in bits @param {number} value */
export function setBits(bytes, [start, end], value) {
  const out = bytes.slice();
  for (let bit = start; bit < end; bit += 1) {
    const mask = 1 << (BYTE - 1 - (bit % BYTE));
    const at = Math.floor(bit / BYTE);
    out[at] = (value >> (end - 1 - bit)) & 1 ? out[at] | mask : out[at] & ~mask;
  }
  return out;
}

/**
 * @typedef {{ name: string, bits: [number, number], raw?: any, children: Node[] }} Node
 * @typedef {{ id: string, label: string, teaches: string, bytes?: Uint8Array, values?: Record<string, any> }} Example `values` are for the
 *   explainer to write into the packet
 */

/**
 * The suggested flips for a frame of a client.
 * @param {Uint8Array} bytes as they travelled @param {Node} tree of the frame @returns {Example[]}
 */
export function suggestedFlips(bytes, tree) {
  const field = (name) => tree.children.find((node) => node.name === name);
  const found = [];
  const add = (name, id, label, teaches, make) => {
    const node = field(name);
    if (node) found.push({ id, label, teaches, bytes: make(node.bits) });
  };
  add('mask', 'mask', 'Unset MASK', 'Masking keeps a page from choosing the bytes that proxies see, so a server must refuse a frame without it.', (place) => setBits(bytes, place, 0));
  add('rsv1', 'rsv1', 'Set RSV1', 'Reserved bits belong to extensions, and none was negotiated.', (place) => setBits(bytes, place, 1));
  add('opcode', 'opcode', 'Opcode 3', 'Opcodes 3 to 7 are reserved: a receiver must not guess what they mean.', (place) => setBits(bytes, place, 3));
  const length = field('payload_length');
  if (length && length.raw < LENGTH_IN_16) {
    add('payload_length', 'long', 'Length 65,535', 'A length is a promise: an endpoint refuses more than it would store.', (place) => {
      const declared = setBits(bytes, place, LENGTH_IN_16);
      const end = place[1] / BYTE;
      return Uint8Array.from([...declared.slice(0, end), ...LONG, ...declared.slice(end)]);
    });
    add('payload_length', 'short', 'Length − 1', 'TCP has no message boundaries: one wrong length, and every later frame begins at the wrong byte.',
      (place) => setBits(bytes, place, Math.max(0, length.raw - 1)));
  }
  const direction = findNode(tree, 'direction');
  if (direction) {
    const value = typeof direction.raw === 'number' ? (direction.raw + HALF_TURN) % TURN : 0;
    found.push({ id: 'direction', label: 'Another direction', values: { direction: value },
      teaches: 'These bytes break no rule, so the server acts on them: nothing in a frame proves who wrote it.' });
  }
  return found;
}

/** The first node of a name. @param {Node} tree @param {string} name @returns {Node | undefined} */
export function findNode(tree, name) {
  if (tree.name === name) return tree;
  for (const child of tree.children) {
    const found = findNode(child, name);
    if (found) return found;
  }
  return undefined;
}

/**
 * What differs, in words: the field of each bit comes from the explainer's leaves of the original.
 * @param {Edit} edit @param {{ name: string, start: number, end: number }[]} leaves of the original @param {string[]} [rewritten] values that
 *   were written anew
 */
export function difference(edit, leaves, rewritten = []) {
  const bits = edit.differing();
  if (rewritten.length > 0) return `New values: ${rewritten.join(' and ')}; the masking key is as it was.`;
  if (bits === null) return `The frame has ${edit.bytes.length} bytes instead of ${edit.original.length}.`;
  if (bits.length === 0) return 'Nothing is changed yet: choose a bit or a byte.';
  const names = new Set(bits.map((bit) => leaves.find((leaf) => leaf.start <= bit && bit < leaf.end)?.name ?? 'payload'));
  const count = bits.length === 1 ? '1 bit differs' : `${bits.length} bits differ`;
  const where = bits.length === 1 ? `: bit ${bits[0] % BYTE} of byte ${Math.floor(bits[0] / BYTE)}, ${bitAt(edit.original, bits[0])} → ${bitAt(edit.bytes, bits[0])}` : '';
  return `${count}${where} (${[...names].map((name) => name.replaceAll('_', ' ')).join(', ')}).`;
}
