/**
 * The room's world in this page: `tickwire.wasm` runs it from a snapshot and the commands of each tick. It takes every message of the server, and says what
 * a server would have said of the same world, so that whoever draws it need not know the difference. Where it cannot be had, `works` is false and
 * `why` says so in a sentence: the page then follows as a stream.
 *
 * @module lib/lockstep
 */

import { WasmInstance } from '../wasm/instance.js';

/** The bit of the mode in `hello` that asks for lockstep. */
export const LOCKSTEP = 2;
/** The reasons of the server for which a page cannot follow in lockstep. */
export const NO_LOCKSTEP = ['lockstep_off', 'lockstep_too_large'];
/** Ticks whose arrival is kept: at 30 a second, about four seconds. */
const ARRIVAL_SAMPLES = 128;
/** Kinds of records that `follow_hear` puts out; the other one is to be sent. */
const RECORD_MESSAGE = 0;
/** Bytes before the message of a record: its kind, and its length as u32, the least significant byte first. */
const HEAD_BYTES = 5;

/**
 * @typedef {object} Field of an entity
 * @property {string} entity
 * @property {string} field
 */

/**
 * What the world says of itself; `src/wasm/lockstep.rs` writes it.
 * @typedef {object} Status
 * @property {number | null} tick ticks that are completed; null before the first snapshot
 * @property {number | null} player
 * @property {number} ticks that were run here
 * @property {number} syncs snapshots from which it began
 * @property {number} checksums that were sent
 * @property {number} differed of these, how many were not those of the server
 * @property {number} bytes of snapshots and command frames
 * @property {(Field & { tick: number, before: string | null, after: string | null }) | null} corrupted the field that this page changed last
 * @property {Report | null} report the last one
 * @property {string | null} error
 */

/**
 * Worlds differed after this tick: the checksums, the server's first, with those who have them; and fields with the server's value and the
 * participant's own.
 * @typedef {object} Report
 * @property {number} tick
 * @property {[checksum: string, participants: string[]][]} groups
 * @property {number} more participants that are not listed
 * @property {(Field & { participant: string, server: string | null, own: string | null })[]} fields
 */

/** Takes records apart. @param {Uint8Array} bytes @returns {{ received: Uint8Array[], toSend: Uint8Array[] }} parts of these bytes */
export function parseRecords(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  /** @type {{ received: Uint8Array[], toSend: Uint8Array[] }} */
  const all = { received: [], toSend: [] };
  for (let at = 0; at < bytes.length;) {
    const end = at + HEAD_BYTES + view.getUint32(at + 1, true);
    (bytes[at] === RECORD_MESSAGE ? all.received : all.toSend).push(bytes.subarray(at + HEAD_BYTES, end));
    at = end;
  }
  return all;
}

/** @param {Uint8Array} one @param {Uint8Array} other */
const isSame = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

/** See the module. */
export class Lockstep {
  /** @param {() => Promise<WebAssembly.Module>} load gets `tickwire.wasm` */
  constructor(load) {
    this.load = load;
    /** @type {Promise<WasmInstance> | null} */
    this.loading = null;
    /** @type {WasmInstance | null} */
    this.wasm = null;
    this.isActive = false;
    /** Why this page follows as a stream; '' while it does not. */
    this.why = '';
    /** Bytes of the messages that came for the world, and of those that a stream would have had in their place. */
    this.counts = { bytesIn: 0, bytesStream: 0 };
    /** Ticks that are completed. */
    this.tick = 0;
    /** When the last ones were, in ticks and ms, oldest first. @type {{ tick: number, ms: number }[]} */
    this.arrivals = [];
  }

  /** Begins with a connection. @param {string} game @param {string} dialect @param {string} table @returns {Promise<boolean>} whether it works */
  async begin(game, dialect, table) {
    this.isActive = false;
    this.tick = 0;
    this.arrivals = [];
    if (this.why !== '') return false;
    try {
      this.loading ??= this.load().then(async (module) => new WasmInstance(await WebAssembly.instantiate(module, {})));
      const wasm = await this.loading;
      if (this.wasm !== wasm) {
        // A program with a game of its own registers it.
        wasm.wasm.main?.(0, 0);
        this.wasm = wasm;
      }
      wasm.setInputText(`${game}\n${dialect}\n${table}`);
      if (wasm.wasm.follow_begin() === 1) this.isActive = true;
      else this.fallBackToStream('this page does not have the rules of this game');
    } catch (error) {
      this.loading = null;
      this.fallBackToStream(/** @type {Error} */ (error).message);
    }
    return this.isActive;
  }

  /** From now on the page follows as a stream. @param {string} why */
  fallBackToStream(why) {
    this.isActive = false;
    this.why = why.replace(/\.$/, '');
  }

  /** Why it follows as a stream, as a sentence; '' while it does not. */
  get fallbackReason() {
    return this.why && `This page follows as a stream: ${this.why[0].toLowerCase()}${this.why.slice(1)}.`;
  }

  /**
   * Takes a message of the server.
   * @param {Uint8Array} message @param {number} nowMs
   * @returns {{ received: Uint8Array[], toSend: Uint8Array<ArrayBuffer>[] }} what goes on as if the server had said it, and what is to be sent
   */
  receive(message, nowMs) {
    const { wasm } = this;
    if (!this.isActive || !wasm) return { received: [message], toSend: [] };
    try {
      wasm.setInput(message);
      const { received, toSend } = parseRecords(wasm.outputBytes(wasm.wasm.follow_hear()).slice());
      // Nothing comes of it: perhaps it cannot be used.
      const error = received.length + toSend.length === 0 ? this.status()?.error : null;
      if (error) this.fallBackToStream(error);
      if (received.length !== 1 || !isSame(received[0], message)) {
        this.counts.bytesIn += message.length;
        for (const { length } of received) this.counts.bytesStream += length;
        this.onTick(wasm.wasm.follow_tick(), nowMs);
      }
      return { received, toSend: /** @type {Uint8Array<ArrayBuffer>[]} */ (toSend) };
    } catch (error) {
      console.error('lockstep is off:', error);
      this.loading = this.wasm = null;
      this.fallBackToStream('its world has failed');
      return { received: [], toSend: [] };
    }
  }

  /** @param {number} tick that is completed now @param {number} nowMs */
  onTick(tick, nowMs) {
    // A world that begins again runs many ticks at once.
    if (tick !== this.tick + 1) this.arrivals.length = 0;
    else if (this.arrivals.push({ tick, ms: nowMs }) > ARRIVAL_SAMPLES) this.arrivals.shift();
    this.tick = tick;
  }

  /** How late the newest tick came against the most punctual of the last ones, ms. @param {number} tickHz */
  jitterMs(tickHz) {
    const due = this.arrivals.map(({ tick, ms }) => ms - (tick * 1000) / tickHz);
    return due.length === 0 ? 0 : due[due.length - 1] - Math.min(...due);
  }

  /** Watches a player while it does not play itself. @param {number | null} player null for the leader */
  spectate(player) {
    if (this.isActive) this.wasm?.wasm.follow_watch(player ?? 0);
  }

  /** Changes a field of the own world at the next checksum, to show what the server does about it. @param {number} seed 32 bits; chooses the field */
  corrupt(seed) {
    if (this.isActive) this.wasm?.wasm.follow_corrupt(seed);
  }

  /** @returns {Status | null} null before it has begun */
  status() {
    const { wasm } = this;
    return wasm && JSON.parse(new TextDecoder().decode(wasm.outputBytes(wasm.wasm.follow_status())));
  }
}
