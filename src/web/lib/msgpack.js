/**
 * Decodes and encodes the MessagePack types that packets use: nil, bool, integers, floats, strings,
 * byte strings, arrays and maps.
 *
 * @module lib/msgpack
 */

/** Maximum nesting of a message. The deepest packet needs 3. */
const MAX_DEPTH = 8;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const toUtf8 = new TextEncoder();

/**
 * Decodes one value that fills `bytes`.
 * @param {Uint8Array} bytes
 * @returns {unknown} maps become `Map`, byte strings `Uint8Array`, 64-bit integers numbers
 * @throws {RangeError} if a value is truncated, nested too deep, of an unknown type, or followed by
 *   more bytes
 */
export function decode(bytes) {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (reader.at !== bytes.length) throw new RangeError(`${bytes.length - reader.at} bytes after the value`);
  return value;
}

/** Reads values from a byte array. */
class Reader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  /** Advances by `length` bytes and returns the previous offset. @param {number} length */
  take(length) {
    const from = this.at;
    if (length > this.bytes.length - from) throw new RangeError(`value cut off at byte ${this.bytes.length}`);
    this.at = from + length;
    return from;
  }

  /** @param {number} depth @returns {unknown} */
  value(depth) {
    const lead = this.bytes[this.take(1)];
    if (lead < 0x80) return lead;
    if (lead >= 0xe0) return lead - 0x100;
    if (lead < 0x90) return this.map(lead & 0x0f, depth);
    if (lead < 0xa0) return this.array(lead & 0x0f, depth);
    if (lead < 0xc0) return this.text(lead & 0x1f);
    return this.tagged(lead, depth);
  }

  /** @param {number} lead first byte, 0xc0 to 0xdf @param {number} depth @returns {unknown} */
  tagged(lead, depth) {
    switch (lead) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: return this.raw(this.view.getUint8(this.take(1)));
      case 0xc5: return this.raw(this.view.getUint16(this.take(2)));
      case 0xc6: return this.raw(this.view.getUint32(this.take(4)));
      case 0xca: return this.view.getFloat32(this.take(4));
      case 0xcb: return this.view.getFloat64(this.take(8));
      case 0xcc: return this.view.getUint8(this.take(1));
      case 0xcd: return this.view.getUint16(this.take(2));
      case 0xce: return this.view.getUint32(this.take(4));
      case 0xcf: return Number(this.view.getBigUint64(this.take(8)));
      case 0xd0: return this.view.getInt8(this.take(1));
      case 0xd1: return this.view.getInt16(this.take(2));
      case 0xd2: return this.view.getInt32(this.take(4));
      case 0xd3: return Number(this.view.getBigInt64(this.take(8)));
      case 0xd9: return this.text(this.view.getUint8(this.take(1)));
      case 0xda: return this.text(this.view.getUint16(this.take(2)));
      case 0xdb: return this.text(this.view.getUint32(this.take(4)));
      case 0xdc: return this.array(this.view.getUint16(this.take(2)), depth);
      case 0xdd: return this.array(this.view.getUint32(this.take(4)), depth);
      case 0xde: return this.map(this.view.getUint16(this.take(2)), depth);
      case 0xdf: return this.map(this.view.getUint32(this.take(4)), depth);
      default: throw new RangeError(`type 0x${lead.toString(16)} is not used here`);
    }
  }

  /** @param {number} length */
  raw(length) {
    const from = this.take(length);
    return this.bytes.slice(from, from + length);
  }

  /** @param {number} length in bytes */
  text(length) {
    const from = this.take(length);
    try {
      return utf8.decode(this.bytes.subarray(from, from + length));
    } catch {
      throw new RangeError(`string at byte ${from} is not UTF-8`);
    }
  }

  /** @param {number} length @param {number} depth */
  array(length, depth) {
    this.enter(length, depth);
    const values = new Array(length);
    for (let i = 0; i < length; i++) values[i] = this.value(depth + 1);
    return values;
  }

  /** @param {number} length @param {number} depth */
  map(length, depth) {
    this.enter(length, depth);
    const entries = new Map();
    for (let i = 0; i < length; i++) entries.set(this.value(depth + 1), this.value(depth + 1));
    return entries;
  }

  /**
   * Rejects a container that is nested too deep or declares more values than bytes remain.
   * @param {number} length
   * @param {number} depth
   */
  enter(length, depth) {
    if (depth >= MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH}`);
    if (length > this.bytes.length - this.at) throw new RangeError(`container of ${length} values is cut off`);
  }
}

/**
 * Encodes a value in the shortest form of its type. Whole numbers become integers.
 * @param {unknown} value nil, bool, number, string, bytes, or an array or a plain object of these
 * @returns {Uint8Array<ArrayBuffer>}
 * @throws {TypeError} for any other type
 */
export function encode(value) {
  /** @type {number[]} */
  const out = [];
  write(out, value);
  return Uint8Array.from(out);
}

/** @param {number[]} out @param {unknown} value */
function write(out, value) {
  if (value === null || value === undefined) out.push(0xc0);
  else if (value === false) out.push(0xc2);
  else if (value === true) out.push(0xc3);
  else if (typeof value === 'number') writeNumber(out, value);
  else if (typeof value === 'string') writeText(out, value);
  else if (value instanceof Uint8Array) {
    if (value.length < 0x100) out.push(0xc4, value.length, ...value);
    else out.push(0xc5, ...bigEndian(value.length, 2), ...value);
  } else if (Array.isArray(value)) {
    if (value.length < 16) out.push(0x90 | value.length);
    else out.push(0xdc, ...bigEndian(value.length, 2));
    for (const item of value) write(out, item);
  } else if (value?.constructor === Object) {
    const entries = Object.entries(value);
    if (entries.length < 16) out.push(0x80 | entries.length);
    else out.push(0xde, ...bigEndian(entries.length, 2));
    for (const entry of entries) for (const item of entry) write(out, item);
  } else throw new TypeError(`cannot encode ${typeof value}`);
}

/** @param {number[]} out @param {number} value */
function writeNumber(out, value) {
  if (!Number.isInteger(value) || value < -0x80000000 || value > 0xffffffff) {
    const bytes = new Uint8Array(9);
    bytes[0] = 0xcb;
    new DataView(bytes.buffer).setFloat64(1, value);
    out.push(...bytes);
  } else if (value >= 0) {
    if (value < 0x80) out.push(value);
    else if (value < 0x100) out.push(0xcc, value);
    else if (value < 0x10000) out.push(0xcd, ...bigEndian(value, 2));
    else out.push(0xce, ...bigEndian(value, 4));
  } else if (value >= -0x20) out.push(value & 0xff);
  else if (value >= -0x80) out.push(0xd0, value & 0xff);
  else if (value >= -0x8000) out.push(0xd1, ...bigEndian(value, 2));
  else out.push(0xd2, ...bigEndian(value, 4));
}

/** @param {number[]} out @param {string} text */
function writeText(out, text) {
  const bytes = toUtf8.encode(text);
  if (bytes.length < 32) out.push(0xa0 | bytes.length);
  else if (bytes.length < 0x100) out.push(0xd9, bytes.length);
  else out.push(0xda, ...bigEndian(bytes.length, 2));
  out.push(...bytes);
}

/** @param {number} value @param {number} count bytes */
function bigEndian(value, count) {
  const bytes = [];
  for (let shift = (count - 1) * 8; shift >= 0; shift -= 8) bytes.push((value >>> shift) & 0xff);
  return bytes;
}
