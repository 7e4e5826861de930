/**
 * Queue of the commands that the server has not acknowledged. Each datagram repeats them in a
 * block, in which a command that repeats its predecessor is one bit (PROTOCOL.md, "The lane for
 * datagrams"):
 *
 * ```text
 *   first u32 │ tick u32 │ step u8 │ count u8 │ same: count bits │ a body for each bit 0
 *   body:  later u8 │ length u8 │ code │ arguments without sequence and tick
 * ```
 *
 * No clock is read here: time is an argument in ms.
 *
 * @module lib/command-queue
 */

import { decode, encode } from './msgpack.js';

/** Maximum number of commands in a datagram. */
const COMMANDS = 64;
/** Maximum bytes of a command in a datagram. */
const COMMAND_BYTES = 200;
/** Value of `tick` if the commands have no target tick. */
const NO_TICK = 0xffffffff;
/** Bytes of the fields before the bits. */
const FIXED_BYTES = 10;
/** Bytes of `later` and `length`. */
const BODY_HEAD_BYTES = 2;

/**
 * @typedef {object} QueuedCommand
 * @property {number} sequence
 * @property {number | null} tick
 * @property {Uint8Array} body
 * @property {Uint8Array<ArrayBuffer>} packet the whole packet, for the stream
 * @property {number} sentAt ms
 * @property {boolean} isInStream
 */

export class CommandQueue {
  constructor() {
    /** @type {QueuedCommand[]} */
    this.commands = [];
    /** Sequence number of the player's first command; 0 before it. */
    this.first = 0;
    /** Whether the server has acknowledged the first command. */
    this.isOpen = false;
  }

  /**
   * Empties the queue for a new player. Returns the packets that only the lane has carried, which
   * the stream must carry before the packet that starts the player.
   */
  restart() {
    const overdue = this.takeOverdue(Infinity, 0);
    this.commands = [];
    this.first = 0;
    this.isOpen = false;
    return overdue;
  }

  /**
   * Adds a command. Returns the packets that the stream must carry. These are all commands until
   * the first one is acknowledged, because the server does not know a player's first sequence
   * number and executes only successive commands from datagrams. A command that is too long for the
   * lane follows all earlier ones.
   * @param {number} sequence
   * @param {number | null} tick
   * @param {Uint8Array<ArrayBuffer>} packet
   * @param {number} now
   */
  push(sequence, tick, packet, now) {
    this.first ||= sequence;
    const body = bodyOf(packet);
    if (body.length > COMMAND_BYTES) return [...this.takeOverdue(Infinity, 0), packet];
    const isInStream = !this.isOpen;
    this.commands.push({ sequence, tick, body, packet, sentAt: now, isInStream });
    return isInStream ? [packet] : [];
  }

  /** Removes the commands up to this sequence number. @param {number} sequence */
  acknowledge(sequence) {
    this.isOpen ||= this.first !== 0 && sequence >= this.first;
    this.commands = this.commands.filter((command) => command.sequence > sequence);
  }

  /**
   * Returns the packets that the stream must carry, because they were not acknowledged within
   * `patience`, or because the queue is full. Returns each packet once, in order.
   * @param {number} now
   * @param {number} patience ms
   */
  takeOverdue(now, patience) {
    const excess = Math.max(0, this.commands.length - COMMANDS);
    const last = this.commands.findLastIndex(({ sentAt }) => now - sentAt >= patience);
    const overdue = this.commands.slice(0, Math.max(last + 1, excess)).filter(({ isInStream }) => !isInStream);
    for (const command of overdue) command.isInStream = true;
    this.commands.splice(0, excess);
    return overdue.map(({ packet }) => packet);
  }

  /** Ticks between the last two commands. */
  get #step() {
    const [previous, last] = this.commands.slice(-2);
    const step = (last?.tick ?? 0) - (previous?.tick ?? 0);
    return last?.tick !== null && previous?.tick !== null && step >= 0 && step < 256 ? step : 0;
  }

  /**
   * Returns the block with the oldest commands that fit into `most` bytes.
   * @param {number} most
   * @returns {Uint8Array<ArrayBuffer>}
   */
  block(most) {
    const step = this.#step;
    const first = this.commands[0];
    /** @type {boolean[]} */
    const same = [];
    /** @type {number[]} */
    const bodies = [];
    /** @type {QueuedCommand | null} */
    let previous = null;
    for (const command of this.commands.slice(0, COMMANDS)) {
      const later = (command.tick ?? 0) - ((previous ?? first).tick ?? 0);
      const isMixed = (command.tick === null) !== (first.tick === null);
      if (isMixed || later < 0 || later > 255 || (previous && previous.sequence + 1 !== command.sequence)) break;
      const isSame = previous !== null && areEqual(previous.body, command.body) && (later === step || command.tick === null);
      const bytes = isSame ? 0 : BODY_HEAD_BYTES + command.body.length;
      if (FIXED_BYTES + (same.length >> 3) + 1 + bodies.length + bytes > most) break;
      same.push(isSame);
      if (!isSame) bodies.push(later, command.body.length, ...command.body);
      previous = command;
    }
    const bits = new Uint8Array((same.length + 7) >> 3);
    same.forEach((one, at) => { if (one) bits[at >> 3] |= 0x80 >> (at & 7); });
    const block = new Uint8Array(FIXED_BYTES + bits.length + bodies.length);
    const view = new DataView(block.buffer);
    view.setUint32(0, first.sequence);
    view.setUint32(4, first.tick ?? NO_TICK);
    block.set([step, same.length, ...bits, ...bodies], 8);
    return block;
  }
}

/**
 * Returns the code and the arguments of a command's packet without sequence and tick.
 * @param {Uint8Array} packet
 */
function bodyOf(packet) {
  const [code, values] = /** @type {[number | string, any[]]} */ (decode(packet));
  const [head, rest] = [encode(code), encode(values.slice(2))];
  const body = new Uint8Array(head.length + rest.length);
  body.set(head);
  body.set(rest, head.length);
  return body;
}

/** @param {Uint8Array} one @param {Uint8Array} other */
const areEqual = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);
