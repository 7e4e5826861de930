/**
 * Runs the room's world in this page: `tickwire.wasm` starts from a snapshot and executes the
 * commands of each tick. It receives every message from the server and produces the packets that a
 * stream would contain, so that the page draws lockstep and a stream in the same way. If lockstep
 * is unavailable, `isActive` is false and the page receives a stream; `fallbackReason` contains the
 * reason.
 *
 * @module lib/lockstep
 */

import { WasmInstance } from '../wasm/instance.js';

/** Number of ticks over which jitter is measured: at 30 a second, about four seconds. */
const ARRIVAL_SAMPLES = 128;
/**
 * Kind of a record in the output of `follow_hear` that contains a packet for the page. A record of
 * the other kind contains a message to send.
 */
const RECORD_MESSAGE = 0;
/** Bytes before the message of a record: its kind, and its length as little-endian u32. */
const HEAD_BYTES = 5;

/** @typedef {object} Field field of an entity @property {string} entity @property {string} field */

/**
 * Status of the world; written by `src/wasm/lockstep.rs`.
 * @typedef {object} Status
 * @property {number | null} tick completed ticks; null before the first snapshot
 * @property {number | null} player
 * @property {number} ticks ticks executed in this page
 * @property {number} syncs snapshots loaded
 * @property {number} checksums checksums sent
 * @property {number} differed sent checksums that differed from the server's
 * @property {number} bytes bytes of snapshots and command frames
 * @property {(Field & { tick: number, before: string | null, after: string | null }) | null}
 *   corrupted field that this page changed last
 * @property {Report | null} report last desync report
 * @property {string | null} error
 */

/**
 * Desync report of a tick. `groups` contains each checksum with its participants; the server's
 * checksum is first. `fields` contains the differing fields, with the values of the server and of
 * the participant.
 * @typedef {object} Report
 * @property {number} tick
 * @property {[checksum: string, participants: string[]][]} groups
 * @property {number} omitted number of participants that are not listed
 * @property {(Field & { participant: string, server: string | null, own: string | null })[]} fields
 */

/**
 * Splits the output of the world into records.
 * @param {Uint8Array} bytes
 * @returns {{ received: Uint8Array[], toSend: Uint8Array[] }} views of `bytes`
 */
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

/** Client in lockstep with its room. */
export class Lockstep {
  /** @param {() => Promise<WebAssembly.Module>} load loads `tickwire.wasm` */
  constructor(load) {
    this.load = load;
    /** @type {Promise<WasmInstance> | null} */
    this.loading = null;
    /** @type {WasmInstance | null} */
    this.wasm = null;
    this.isActive = false;
    /** Reason for the fallback to a stream; '' without a fallback. */
    this.why = '';
    /**
     * `bytesIn`: bytes of the received messages for the world. `bytesStream`: bytes of the packets
     * that a stream would have contained instead.
     */
    this.counts = { bytesIn: 0, bytesStream: 0 };
    /** Completed ticks. */
    this.tick = 0;
    /** Arrival of the recent ticks, oldest first. @type {{ tick: number, ms: number }[]} */
    this.arrivals = [];
  }

  /**
   * Starts with a new connection.
   * @param {string} game
   * @param {string} dialect
   * @param {string} table
   * @returns {Promise<boolean>} whether lockstep is active
   */
  async begin(game, dialect, table) {
    this.isActive = false;
    this.tick = 0;
    this.arrivals = [];
    if (this.why !== '') return false;
    try {
      this.loading ??= this.load().then(async (module) => new WasmInstance(await WebAssembly.instantiate(module, {})));
      const wasm = await this.loading;
      if (this.wasm !== wasm) {
        // A program with a game of its own registers the game here.
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

  /** Falls back to a stream for the rest of the page's life. @param {string} why */
  fallBackToStream(why) {
    this.isActive = false;
    this.why = why.replace(/\.$/, '');
  }

  /** Reason for the fallback as a sentence; '' without a fallback. */
  get fallbackReason() {
    return this.why && `This page follows as a stream: ${this.why[0].toLowerCase()}${this.why.slice(1)}.`;
  }

  /**
   * Processes a message from the server.
   * @param {Uint8Array} message
   * @param {number} nowMs
   * @returns {{ received: Uint8Array[], toSend: Uint8Array<ArrayBuffer>[] }} packets for the page,
   *   and messages for the server
   */
  receive(message, nowMs) {
    const { wasm } = this;
    if (!this.isActive || !wasm) return { received: [message], toSend: [] };
    try {
      wasm.setInput(message);
      const { received, toSend } = parseRecords(wasm.outputBytes(wasm.wasm.follow_hear()).slice());
      // If a message has no output, the world may have failed.
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

  /**
   * Records that a tick was completed.
   * @param {number} tick completed ticks
   * @param {number} nowMs
   */
  onTick(tick, nowMs) {
    // A resync runs many ticks at once.
    if (tick !== this.tick + 1) this.arrivals.length = 0;
    else if (this.arrivals.push({ tick, ms: nowMs }) > ARRIVAL_SAMPLES) this.arrivals.shift();
    this.tick = tick;
  }

  /**
   * Returns the lateness of the newest tick relative to the earliest of the recent ticks, ms.
   * @param {number} tickHz
   */
  jitterMs(tickHz) {
    const due = this.arrivals.map(({ tick, ms }) => ms - (tick * 1000) / tickHz);
    return due.length === 0 ? 0 : due[due.length - 1] - Math.min(...due);
  }

  /**
   * Spectates a player. Has no effect while the page has a player of its own.
   * @param {number | null} player null for the leader
   */
  spectate(player) {
    if (this.isActive) this.wasm?.wasm.follow_watch(player ?? 0);
  }

  /**
   * Changes a field of this page's world before the next checksum, to demonstrate a desync report.
   * @param {number} seed u32 that selects the field
   */
  corrupt(seed) {
    if (this.isActive) this.wasm?.wasm.follow_corrupt(seed);
  }

  /** Returns the status of the world. @returns {Status | null} null before the world is loaded */
  status() {
    const { wasm } = this;
    return wasm && JSON.parse(new TextDecoder().decode(wasm.outputBytes(wasm.wasm.follow_status())));
  }
}
