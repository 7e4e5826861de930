/**
 * Datagrams of the lane: header, acknowledgements and messages. PROTOCOL.md, "The lane for
 * datagrams", describes the format. The data channel encrypts them, so they have no tag.
 *
 * ```text
 *   connection u32 │ sequence u16 │ newest u16 │ received u32 │ messages
 *   message:  kind u8 │ length u16 │ content
 * ```
 *
 * No clock is read here: time is an argument in ms.
 *
 * @module lib/datagram
 */

/** Bytes of the header. */
const HEADER_BYTES = 12;
/** Bytes of the kind and the length of a message. */
export const MESSAGE_HEAD_BYTES = 3;
/** Maximum bytes of the messages: 1200 without the header, and without SCTP and DTLS around it. */
export const MESSAGES_BYTES = 1200 - HEADER_BYTES - 68;
/** Number of sequence numbers below the newest whose arrival is remembered. */
const WINDOW = 64;
/** Number of sequence numbers below the newest that a header acknowledges. */
const ACKED = 32;
/** Number of sent datagrams whose times are remembered. */
const REMEMBERED = 128;
/** Silence, in addition to a round trip, after which the lane is not in use, ms. */
export const SILENCE_MS = 400;
/** Minimum number of datagrams from which the loss is estimated. */
const LOSS_SAMPLE = 16;

/** Kinds of messages. */
export const KIND = Object.freeze({ packet: 1, commands: 2, received: 3 });

/** @typedef {{ kind: number, content: Uint8Array }} Message */

/** One end of a lane: numbers, acknowledges and counts datagrams. */
export class LaneEndpoint {
  /** @param {number} connection connection id of the lane */
  constructor(connection) {
    this.connection = connection;
    this.sequence = 0;
    /** Newest received sequence number; 0 before the first. */
    this.newest = 0;
    /** Whether `newest - 1 - n` was received, by n. @type {boolean[]} */
    this.before = [];
    /** Newest sent sequence number that the other end has acknowledged. */
    this.acked = 0;
    /** Times of sent datagrams by sequence number, ms. @type {Map<number, number>} */
    this.sent = new Map();
    /** Round trip of the last acknowledged datagram, ms. @type {number | null} */
    this.tripMs = null;
    this.receivedAt = -Infinity;
    this.stats = { sent: 0, received: 0, repeated: 0, late: 0 };
  }

  /**
   * Makes a datagram.
   * @param {Uint8Array} messages
   * @param {number} now
   * @returns {Uint8Array<ArrayBuffer>}
   */
  seal(messages, now) {
    this.sequence += 1;
    this.stats.sent += 1;
    this.sent.set(this.sequence, now);
    this.sent.delete(this.sequence - REMEMBERED);
    const datagram = new Uint8Array(HEADER_BYTES + messages.length);
    const view = new DataView(datagram.buffer);
    view.setUint32(0, this.connection);
    view.setUint16(4, this.sequence & 0xffff);
    view.setUint16(6, this.newest & 0xffff);
    view.setUint32(8, this.#receivedBits());
    datagram.set(messages, HEADER_BYTES);
    return datagram;
  }

  #receivedBits() {
    let bits = 0;
    for (let n = 0; n < ACKED; n += 1) if (this.before[n]) bits |= 1 << n;
    return bits >>> 0;
  }

  /**
   * Opens a datagram. Drops it if it is too short, of another lane, repeated or too old.
   * @param {Uint8Array} datagram
   * @param {number} now
   * @returns {Uint8Array | null} messages
   */
  open(datagram, now) {
    if (datagram.length < HEADER_BYTES) return null;
    const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
    if (view.getUint32(0) !== this.connection) return null;
    const sequence = extend(view.getUint16(4), this.newest);
    if (!this.#record(sequence)) return null;
    this.receivedAt = now;
    this.stats.received += 1;
    this.#onAck(extend(view.getUint16(6), this.sequence), now);
    return datagram.subarray(HEADER_BYTES);
  }

  /**
   * Records a sequence number. Returns false if it was recorded before or is too old.
   * @param {number} sequence
   */
  #record(sequence) {
    const step = sequence - this.newest;
    if (step > 0) {
      const between = new Array(Math.min(step - 1, WINDOW)).fill(false);
      this.before = [...between, this.newest > 0, ...this.before].slice(0, WINDOW);
      this.newest = sequence;
      return true;
    }
    if (step === 0 || -step > WINDOW || sequence < 1 || this.before[-step - 1]) {
      this.stats.repeated += 1;
      return false;
    }
    this.stats.late += 1;
    this.before[-step - 1] = true;
    return true;
  }

  /** @param {number} newest @param {number} now */
  #onAck(newest, now) {
    if (newest <= this.acked || newest > this.sequence) return;
    this.acked = newest;
    const sent = this.sent.get(newest);
    if (sent !== undefined) this.tripMs = now - sent;
  }

  /** Number of datagrams in the window of acknowledgements, and how many of them are missing. */
  get missing() {
    const sent = Math.min(Math.max(this.newest - 1, 0), ACKED);
    return { sent, missing: sent - this.before.slice(0, ACKED).filter(Boolean).length };
  }

  /**
   * Whether datagrams pass in both directions, and few are missing.
   * @param {number} now
   */
  isUsable(now) {
    const { sent, missing } = this.missing;
    const oldest = Math.min(this.receivedAt, this.sent.get(this.acked + 1) ?? Infinity);
    return this.acked > 0 && now - oldest <= (this.tripMs ?? 0) + SILENCE_MS
      && (sent < LOSS_SAMPLE || 2 * missing <= sent);
  }
}

/**
 * Returns the number nearest to `near` with these lower 16 bits.
 * @param {number} low
 * @param {number} near
 */
export const extend = (low, near) => near + (((low - near) << 16) >> 16);

/**
 * Returns the messages of a datagram, up to a truncated one.
 * @param {Uint8Array} bytes
 * @returns {Message[]}
 */
export function readMessages(bytes) {
  const messages = [];
  for (let at = 0; at + MESSAGE_HEAD_BYTES <= bytes.length;) {
    const end = at + MESSAGE_HEAD_BYTES + bytes[at + 1] * 256 + bytes[at + 2];
    if (end > bytes.length) break;
    messages.push({ kind: bytes[at], content: bytes.subarray(at + MESSAGE_HEAD_BYTES, end) });
    at = end;
  }
  return messages;
}

/**
 * Joins messages.
 * @param {Message[]} messages
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function writeMessages(messages) {
  const bytes = new Uint8Array(messages.reduce((sum, { content }) => sum + MESSAGE_HEAD_BYTES + content.length, 0));
  let at = 0;
  for (const { kind, content } of messages) {
    bytes.set([kind, content.length >> 8, content.length & 0xff], at);
    bytes.set(content, at + MESSAGE_HEAD_BYTES);
    at += MESSAGE_HEAD_BYTES + content.length;
  }
  return bytes;
}
