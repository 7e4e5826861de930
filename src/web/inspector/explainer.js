/**
 * The inspector in WebAssembly (`src/wasm/`): observed bytes of a client in, what the page shows of them out. It is the server's own code; nothing else
 * in the page reads a byte of a frame.
 *
 * @module inspector/explainer
 */

import { wasmModule } from '../wasm/module.js';
import { WasmInstance } from '../wasm/instance.js';

/** The first byte of JSON, and of no capture. */
const BRACE = 0x7b;

/**
 * @typedef {{ all: number, seen: number, judged: number, why?: string }} Count
 * @typedef {{ number: number, client: string, server: string, name: string | null, whole: boolean, bytes: number, dialect: string | null,
 *   guess: boolean, broken: number }} Connection of a capture
 * @typedef {{ packets: number, pieces: number, read: number, notes: string[], all: number, connections: Connection[] }} About
 */

/** See the module. */
export class Explainer extends WasmInstance {
  /** @param {BufferSource} bytes of tickwire.wasm */
  static async from(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Explainer(instance);
  }

  static async load() {
    return new Explainer(await WebAssembly.instantiate(await wasmModule(), {}));
  }

  /** How many frames can be explained again. @returns {number} */
  get maxFrames() {
    return this.wasm.frames_kept();
  }

  /** Begins anew with the server's first message, which has the code tables in force. @param {string} text */
  welcome(text) {
    this.setInputText(text);
    this.json(this.wasm.welcome());
  }

  /** Forgets all frames; from now on messages about this client are taken. @param {number | null} client */
  selectClient(client) {
    this.json(this.wasm.watch(BigInt(client ?? 0)));
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.json(this.wasm.pause(Number(paused)));
  }

  /**
   * Takes a message of the server; nothing is there of a client that is not watched.
   * @param {ArrayBuffer} message @returns {{ frames?: import('./list/frames.js').Entry[], lost?: number, missed?: number, ended?: string }}
   */
  receive(message) {
    this.setInput(new Uint8Array(message));
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
    this.setInputText(JSON.stringify(given));
    return this.json(this.wasm.explain_bytes());
  }

  /**
   * The bytes of a frame of the client with other values, in hexadecimal; throws if there is no such packet.
   * @param {{ n: number, set: Record<string, unknown>, next?: boolean }} wanted `next` takes the sequence number that the server expects
   * @returns {string}
   */
  rewrite(wanted) {
    this.setInputText(JSON.stringify(wanted));
    return this.json(this.wasm.rewrite()).bytes;
  }

  /**
   * Sets what the list shows; `wrong` says what is wrong with the text, from `begin` to `end`.
   * @param {{ text: string, from: '' | 'client' | 'server', client: number | null, automatic: boolean }} wish
   * @returns {{ wrong?: string, begin?: number, end?: number }}
   */
  filter(wish) {
    this.setInputText(JSON.stringify(wish));
    return this.json(this.wasm.filter());
  }

  /** How many frames there are and are seen; `why` none is. @returns {Count} */
  count() {
    return { all: 0, seen: 0, judged: 0, ...this.json(this.wasm.count()) };
  }

  /** Reads and filters on, until so many bytes were looked at. @param {number} bytes @returns {Count & { more: boolean, pieces?: number, read?: number }} */
  advance(bytes) {
    return { all: 0, seen: 0, judged: 0, ...this.json(this.wasm.work(bytes)) };
  }

  /** The seen entries from a place on. @param {number} first @param {number} count @returns {import('./list/frames.js').Entry[]} */
  rows(first, count) {
    return this.json(this.wasm.rows(first, count)).rows ?? [];
  }

  /** The place of a frame among the seen ones; `-1 - place` of the next one if it is not seen. @param {number} n @returns {number} */
  place(n) {
    return this.wasm.place(BigInt(n));
  }

  /** The entry of a frame, seen or not; or `gone`. @param {number} n */
  entry(n) {
    return this.json(this.wasm.entry(BigInt(n)));
  }

  /**
   * The updates of a client up to a frame.
   * @param {number} client @param {number} until @param {number} count
   * @returns {{ normal_ms?: number | null, updates?: [number, number, number | null, number, number][] }} number, time, gap before it, bytes,
   *   ticks since the update before (packets in a capture)
   */
  timeline(client, until, count) {
    return this.json(this.wasm.timeline(client, BigInt(until), count));
  }

  /**
   * What changed since the previous frame of the same packet; nothing where there is none.
   * @param {number} n @returns {{ before?: number, same?: number, count?: number, changed?: { path: string, before: string | null, after: string | null }[] }}
   */
  difference(n) {
    return this.json(this.wasm.difference(BigInt(n)));
  }

  /** The fragment of a link to a frame; throws if it is too long for one. @param {number} n @returns {string} */
  link(n) {
    return this.json(this.wasm.link(BigInt(n))).link;
  }

  /** Shows the frame of a link. @param {string} fragment without `#` */
  openLink(fragment) {
    this.setInputText(fragment);
    this.json(this.wasm.open_link());
  }

  /** The most bytes that a capture file may have. @returns {number} */
  get maxFileBytes() {
    return this.wasm.file_most();
  }

  /** Opens a capture file in one call; throws if it is none, or is damaged. @param {Uint8Array} file @returns {About} */
  openFile(file) {
    this.setFileInput(file);
    for (;;) {
      const opened = this.openOn(file.length + 1);
      if ('packets' in opened) return opened;
    }
  }

  /** Goes on opening the file that was given, until about so many bytes were looked at. @param {number} bytes @returns {About | { percent: number }} */
  openOn(bytes) {
    return this.json(this.wasm.file_open(bytes));
  }

  /** How far the file was read, and what is known of its connections. @returns {About} */
  fileSummary() {
    return this.json(this.wasm.file_about());
  }

  /** @param {Uint8Array} file */
  setFileInput(file) {
    const address = this.wasm.file_input(file.length);
    if (address === 0) {
      const mib = (bytes) => Math.ceil(bytes / 2 ** 20);
      throw new Error(`The file is ${mib(file.length)} MiB; this page opens at most ${mib(this.maxFileBytes)} MiB. On the command line, \`tickwire explain FILE\` reads more.`);
    }
    new Uint8Array(this.wasm.memory.buffer, address, file.length).set(file);
  }

  /** Bytes by packet and field since the last call. @returns {import('./byte-rates.js').Part[]} */
  fields() {
    return this.json(this.wasm.fields());
  }

  /** The frames that are kept, as a pcapng file; null before the handshake is known. @param {{ player: number, name: string }} whose */
  save({ player, name }) {
    this.setInputText(JSON.stringify({ player, name }));
    const bytes = this.outputBytes(this.wasm.save());
    return bytes[0] === BRACE ? null : bytes.slice();
  }
}
