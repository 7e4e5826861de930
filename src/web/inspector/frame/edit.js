/**
 * An edited frame: its bytes, the differences to the original, and suggested flips. The explainer
 * locates the fields and judges the edited bytes; this file only changes bits.
 *
 * @module inspector/frame/edit
 */

import { BYTE, bitAt } from './tree.js';

/** Wrong payload length of an example: the maximum of 16 bits. The server accepts less. */
const LONG = [0xff, 0xff];
/** Payload length that announces a 16-bit length (RFC 6455 section 5.2). */
const LENGTH_IN_16 = 126;
const HALF_TURN = 0x8000;
const TURN = 0x10000;

/** Edited bytes of a frame. */
export class Edit {
  /** @param {Uint8Array} original sent bytes */
  constructor(original) {
    this.original = original.slice();
    this.bytes = original.slice();
  }

  /** Flips a bit. @param {number} bit index from the start */
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

  /** Returns the changed bits; null if the length differs. @returns {number[] | null} */
  differing() {
    if (this.bytes.length !== this.original.length) return null;
    const bits = [];
    for (let bit = 0; bit < this.bytes.length * BYTE; bit += 1) if (bitAt(this.bytes, bit) !== bitAt(this.original, bit)) bits.push(bit);
    return bits;
  }
}

/** Parses a byte of up to two hexadecimal digits; null if invalid. @param {string} text */
export function hexByte(text) {
  return /^[0-9a-f]{1,2}$/i.test(text.trim()) ? Number.parseInt(text, 16) : null;
}

/**
 * Sets a range of bits to a number.
 * @param {Uint8Array} bytes
 * @param {[number, number]} range in bits
 * @param {number} value
 */
export function setBits(bytes, [start, end], value) {
  const out = bytes.slice();
  for (let bit = start; bit < end; bit += 1) {
    const mask = 1 << (BYTE - 1 - (bit % BYTE));
    const at = Math.floor(bit / BYTE);
    out[at] = (value >> (end - 1 - bit)) & 1 ? out[at] | mask : out[at] & ~mask;
  }
  return out;
}

/** @typedef {import('./tree.js').Node} Node */
/**
 * @typedef {{ id: string, label: string, teaches: string, bytes?: Uint8Array, values?:
 *   Record<string, number> }} Example `values`: values that the explainer writes into the packet
 */

/**
 * Returns the suggested flips for a client frame.
 * @param {Uint8Array} bytes sent bytes
 * @param {Node} tree tree of the frame
 * @returns {Example[]}
 */
export function suggestedFlips(bytes, tree) {
  /** @param {string} name */
  const field = (name) => tree.children.find((node) => node.name === name);
  /** @type {Example[]} */
  const found = [];
  /**
   * @param {string} name @param {string} id @param {string} label @param {string} teaches
   * @param {(range: [number, number]) => Uint8Array} make
   */
  const add = (name, id, label, teaches, make) => {
    const node = field(name);
    if (node) found.push({ id, label, teaches, bytes: make(node.bits) });
  };
  add('mask', 'mask', 'Unset MASK', 'Masking keeps a page from choosing the bytes that proxies see, so a server must refuse a frame without it.', (range) => setBits(bytes, range, 0));
  add('rsv1', 'rsv1', 'Set RSV1', 'Reserved bits belong to extensions, and none was negotiated.', (range) => setBits(bytes, range, 1));
  add('opcode', 'opcode', 'Opcode 3', 'Opcodes 3 to 7 are reserved: a receiver must not guess what they mean.', (range) => setBits(bytes, range, 3));
  const length = field('payload_length')?.raw;
  if (typeof length === 'number' && length < LENGTH_IN_16) {
    add('payload_length', 'long', 'Length 65,535', 'A length is a promise: an endpoint refuses more than it would store.', (range) => {
      const declared = setBits(bytes, range, LENGTH_IN_16);
      const end = range[1] / BYTE;
      return Uint8Array.from([...declared.slice(0, end), ...LONG, ...declared.slice(end)]);
    });
    add('payload_length', 'short', 'Length − 1', 'TCP has no message boundaries: one wrong length, and every later frame begins at the wrong byte.',
      (range) => setBits(bytes, range, Math.max(0, length - 1)));
  }
  const direction = findNode(tree, 'direction');
  if (direction) {
    const value = typeof direction.raw === 'number' ? (direction.raw + HALF_TURN) % TURN : 0;
    found.push({ id: 'direction', label: 'Another direction', values: { direction: value },
      teaches: 'These bytes break no rule, so the server acts on them: nothing in a frame proves who wrote it.' });
  }
  return found;
}

/**
 * Returns the first node with a name.
 * @param {Node} tree
 * @param {string} name
 * @returns {Node | undefined}
 */
export function findNode(tree, name) {
  if (tree.name === name) return tree;
  for (const child of tree.children) {
    const found = findNode(child, name);
    if (found) return found;
  }
  return undefined;
}

/**
 * Describes the changes. The leaves of the original frame name the field of each bit.
 * @param {Edit} edit
 * @param {{ name: string, start: number, end: number }[]} leaves leaves of the original
 * @param {string[]} [rewritten] names of rewritten values
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
