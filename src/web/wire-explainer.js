/**
 * The inspector in WebAssembly (`src/tab/`): observed bytes of a client in, what the page shows of them out. It is the server's own code; nothing else
 * in the page reads a byte of a frame.
 *
 * @module wire-explainer
 */

import { tabModule } from './tab-module.js';
import { Wasm } from './tab-wasm.js';

/** The first byte of JSON, and of no capture. */
const BRACE = 0x7b;

/** See the module. */
export class Explainer extends Wasm {
  /** @param {BufferSource} bytes of tab.wasm */
  static async from(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Explainer(instance);
  }

  static async load() {
    return new Explainer(await WebAssembly.instantiate(await tabModule(), {}));
  }

  /** How many frames can be explained again. @returns {number} */
  get framesKept() {
    return this.wasm.frames_kept();
  }

  /** Begins anew with the server's first message, which has the code tables in force. @param {string} text */
  welcome(text) {
    this.giveText(text);
    this.json(this.wasm.welcome());
  }

  /** Forgets all frames; from now on messages about this client are taken. @param {number | null} client */
  watch(client) {
    this.json(this.wasm.watch(BigInt(client ?? 0)));
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.json(this.wasm.pause(Number(paused)));
  }

  /**
   * Takes a message of the server; nothing is there of a client that is not watched.
   * @param {ArrayBuffer} message @returns {{ frames?: import('./wire-frames.js').Entry[], lost?: number, missed?: number, ended?: string }}
   */
  receive(message) {
    this.give(new Uint8Array(message));
    return this.json(this.wasm.receive());
  }

  /** Everything about a frame, or `gone`. @param {number} n */
  explain(n) {
    return this.json(this.wasm.explain(BigInt(n)));
  }

  /**
   * Everything about bytes that would come next in the connection; or, with a dialect, about bytes on their own.
   * @param {{ from: 'client' | 'server', bytes: string, dialect?: string, json?: boolean }} given bytes in hexadecimal
   */
  explainBytes(given) {
    this.giveText(JSON.stringify(given));
    return this.json(this.wasm.explain_bytes());
  }

  /**
   * The bytes of a frame of the client with other values, in hexadecimal; throws if there is no such packet.
   * @param {{ n: number, set: Record<string, unknown>, next?: boolean }} wanted `next` takes the sequence number that the server expects
   * @returns {string}
   */
  rewrite(wanted) {
    this.giveText(JSON.stringify(wanted));
    return this.json(this.wasm.rewrite()).bytes;
  }

  /** Bytes by packet and field since the last call. @returns {import('./wire-bytes.js').Part[]} */
  fields() {
    return this.json(this.wasm.fields());
  }

  /** The frames that are kept, as a pcapng file; null before the handshake is known. @param {{ player: number, name: string }} whose */
  save({ player, name }) {
    this.giveText(JSON.stringify({ player, name }));
    const bytes = this.bytes(this.wasm.save());
    return bytes[0] === BRACE ? null : bytes.slice();
  }
}
