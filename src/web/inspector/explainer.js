/**
 * The inspector core in WebAssembly (`src/wasm/`): receives the observed bytes of a client and
 * returns the content of the page. It is the server's own code; JavaScript parses no frame.
 *
 * @module inspector/explainer
 */

import { wasmModule } from '../wasm/module.js';
import { WasmInstance } from '../wasm/instance.js';

/** First byte of a JSON result. A capture begins with another byte. */
const BRACE = 0x7b;

/**
 * @typedef {{ all: number, seen: number, judged: number, why?: string }} Count
 * @typedef {{ number: number, client: string, server: string, name: string | null, whole: boolean,
 *   bytes: number, dialect: string | null, guess: boolean, broken: number }} Connection connection
 *   of a capture
 * @typedef {{ packets: number, pieces: number, read: number, notes: string[], all: number,
 *   connections: Connection[] }} About
 */

/** @typedef {'client' | 'server'} Sender */

/**
 * Broken rule of a frame.
 * @typedef {{ rule: string, citation: string, description: string, response: string,
 *   bits: [number, number] }} Problem
 */

/**
 * Explanation of a frame. `start` and `end` are in bytes; `payload` is in hexadecimal.
 * @typedef {{ start: number, end: number, kind: string, line: string, opcode: string | null,
 *   fin: number | boolean | null, masked: boolean | null, packet: string | null, payload: string,
 *   tree: import('./frame/tree.js').Node, message?: Message, problem: Problem | null
 * }} ExplainedFrame
 */

/**
 * Message of several frames, or compressed. Bits of the tree count from the start of `payload`, the
 * inflated bytes in hexadecimal.
 * @typedef {{ frames: number, bytes: number, compressed_bytes?: number, payload: string,
 *   tree: import('./frame/tree.js').Node }} Message
 */

/**
 * Explanation of bytes, as `tickwire explain --json` prints it. `raw`: the bytes in hexadecimal;
 * `text`: request or response head. `wire`: header of a compressed message that a proxy has
 * inflated. `received`: message in whose place a proxy has sent this one.
 * @typedef {{ n?: number, raw: string, text?: string, from: Sender, dialect: string,
 *   frames: ExplainedFrame[], wire?: Explanation, received?: Explanation, gone?: undefined
 * }} Explanation
 */

/** Result for a frame that is no longer stored. @typedef {{ gone: true }} Gone */
/** @typedef {import('./list/frames.js').Entry} Entry */
/** @typedef {Gone & Partial<Record<keyof Entry, undefined>>} GoneEntry */

/** Number in place of a client for all clients. */
export const ALL_CLIENTS = -1;

/** Inspector core. */
export class Explainer extends WasmInstance {
  /** @param {BufferSource} bytes content of tickwire.wasm */
  static async from(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Explainer(instance);
  }

  static async load() {
    return new Explainer(await WebAssembly.instantiate(await wasmModule(), {}));
  }

  /**
   * Maximum number of stored frames. Only stored frames can be explained again.
   * @returns {number}
   */
  get maxFrames() {
    return this.wasm.frames_kept();
  }

  /**
   * Restarts with the first message from the server, which contains the packet tables.
   * @param {string} text JSON
   */
  welcome(text) {
    this.setInputText(text);
    this.json(this.wasm.welcome());
  }

  /**
   * Selects a client; its stored frames stay.
   * @param {number | null} client null for none, `ALL_CLIENTS` for all
   */
  selectClient(client) {
    this.json(client === ALL_CLIENTS ? this.wasm.watch_all() : this.wasm.watch(BigInt(client ?? 0)));
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.json(this.wasm.pause(Number(paused)));
  }

  /**
   * Processes a message from the server. The result is empty for a message about another client.
   * @param {ArrayBuffer} message
   * @returns {{ frames?: Entry[], gone?: number, lost?: number, missed?:
   *   number, ended?: string }} `gone`: number of visible entries that were removed
   */
  receive(message) {
    this.setInput(new Uint8Array(message));
    return this.json(this.wasm.receive());
  }

  /** Explains a frame. @param {number} n @returns {Explanation | Gone} */
  explain(n) {
    return this.json(this.wasm.explain(BigInt(n)));
  }

  /**
   * Returns the summary line of a frame, and the values of its packet. Empty if the frame is no
   * longer stored.
   * @param {number} n
   * @returns {{ line?: string, values?: string | null }}
   */
  lineOf(n) {
    return this.json(this.wasm.line(BigInt(n)));
  }

  /**
   * Explains bytes as the next bytes of the selected connection. If a dialect is given, explains
   * them independently of the connection.
   * @param {{ from: 'client' | 'server', bytes: string, dialect?: string, json?: boolean }} given
   *   `bytes` in hexadecimal
   * @returns {Explanation}
   */
  explainBytes(given) {
    this.setInputText(JSON.stringify(given));
    return this.json(this.wasm.explain_bytes());
  }

  /**
   * Returns the bytes of a client frame with changed values, in hexadecimal.
   * @param {{ n: number, set: Record<string, unknown>, next?: boolean }} wanted `next` uses the
   *   sequence number that the server expects
   * @returns {string} @throws {Error} if there is no such packet
   */
  rewrite(wanted) {
    this.setInputText(JSON.stringify(wanted));
    return this.json(this.wasm.rewrite()).bytes;
  }

  /**
   * Sets the filter. For an invalid text, `wrong` is the error, and `begin` and `end` are its range
   * in the text.
   * @param {{ text: string, from: '' | 'client' | 'server', client: number | null, automatic:
   *   boolean }} request
   * @returns {{ wrong?: string, begin?: number, end?: number }}
   */
  filter(request) {
    this.setInputText(JSON.stringify(request));
    return this.json(this.wasm.filter());
  }

  /**
   * Returns the numbers of stored and visible frames, and `why` none is visible.
   * @returns {Count}
   */
  count() {
    return { all: 0, seen: 0, judged: 0, ...this.json(this.wasm.count()) };
  }

  /**
   * Continues reading and filtering.
   * @param {number} bytes approximate limit of the work
   * @returns {Count & { more: boolean, pieces?: number, read?: number }}
   */
  advance(bytes) {
    return { all: 0, seen: 0, judged: 0, ...this.json(this.wasm.list_advance(bytes)) };
  }

  /**
   * Returns visible entries.
   * @param {number} first index
   * @param {number} count
   * @returns {Entry[]}
   */
  rows(first, count) {
    return this.json(this.wasm.rows(first, count)).rows ?? [];
  }

  /**
   * Returns the index of a frame among the visible frames. For a hidden frame, returns `-1 - index`
   * with the index of the next visible frame.
   * @param {number} n
   * @returns {number}
   */
  indexOf(n) {
    return this.wasm.place(BigInt(n));
  }

  /**
   * Returns the entry of a frame, visible or not.
   * @param {number} n
   * @returns {Entry & { gone?: undefined } | GoneEntry}
   */
  entry(n) {
    return this.json(this.wasm.entry(BigInt(n)));
  }

  /**
   * Returns the updates of a client up to a frame.
   * @param {number} client
   * @param {number} until
   * @param {number} count maximum number
   * @returns {import('./list/update-strip.js').Timeline}
   *   in a capture, packets are counted instead of ticks
   */
  timeline(client, until, count) {
    return this.json(this.wasm.list_timeline(client, BigInt(until), count));
  }

  /**
   * Compares a frame with the previous one of the same packet. Empty without a previous frame.
   * @param {number} n
   * @returns {{ before?: number, same?: number, count?: number, changed?: { path: string, before:
   *   string | null, after: string | null }[] }}
   */
  difference(n) {
    return this.json(this.wasm.list_packet_diff(BigInt(n)));
  }

  /**
   * Returns the fragment of a link to a frame.
   * @param {number} n
   * @returns {string} @throws {Error} if the frame is too long
   */
  link(n) {
    return this.json(this.wasm.link(BigInt(n))).link;
  }

  /** Loads the frame of a link. @param {string} fragment without `#` */
  openLink(fragment) {
    this.setInputText(fragment);
    this.json(this.wasm.list_open_share_link());
  }

  /**
   * Reads pasted bytes in any notation.
   * @param {string} text
   * @returns {{ link: string, note: string }} fragment of a link, and the recognised notation
   * @throws {Error} if no notation fits
   */
  readPasted(text) {
    this.setInputText(text);
    return this.json(this.wasm.list_read_pasted());
  }

  /** Maximum bytes of a capture file. @returns {number} */
  get maxFileBytes() {
    return this.wasm.list_max_file_bytes();
  }

  /**
   * Opens a capture file in one call.
   * @param {Uint8Array} file
   * @returns {About} @throws {Error} if the file is damaged or not a capture
   */
  openFile(file) {
    this.setFileInput(file);
    for (;;) {
      const opened = this.openOn(file.length + 1);
      if ('packets' in opened) return opened;
    }
  }

  /**
   * Continues opening the file that was set.
   * @param {number} bytes approximate limit of the work
   * @returns {About | { percent: number }}
   */
  openOn(bytes) {
    return this.json(this.wasm.list_open_file(bytes));
  }

  /** Returns the reading progress and the connections of the file. @returns {About} */
  fileSummary() {
    return this.json(this.wasm.list_file_summary());
  }

  /** @param {Uint8Array} file */
  setFileInput(file) {
    const address = this.reserveFileInput(file.length);
    new Uint8Array(this.wasm.memory.buffer, address, file.length).set(file);
  }

  /**
   * Reserves memory for a file.
   * @param {number} length bytes
   * @returns {number} its address @throws {Error} if the file is too large
   */
  reserveFileInput(length) {
    const address = this.wasm.list_file_input(length);
    if (address === 0) {
      /** @param {number} bytes */
      const mib = (bytes) => Math.ceil(bytes / 2 ** 20);
      throw new Error(`The file is ${mib(length)} MiB; this page opens at most ${mib(this.maxFileBytes)} MiB. On the command line, \`tickwire explain FILE\` reads more.`);
    }
    return address;
  }

  /**
   * Returns bytes by packet and field since the last call.
   * @returns {import('./byte-rates.js').Part[]}
   */
  fields() {
    return this.json(this.wasm.fields());
  }

  /**
   * Exports the stored frames as a pcapng file; null before the handshake is known.
   * @param {{ id: number, player: number, name: string }[]} clients players of the clients
   */
  save(clients) {
    this.setInputText(JSON.stringify(clients.map(({ id, player, name }) => ({ id, player, name }))));
    const bytes = this.outputBytes(this.wasm.save());
    return bytes[0] === BRACE ? null : bytes.slice();
  }
}
