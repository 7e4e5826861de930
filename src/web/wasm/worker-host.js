/**
 * The page's side of the server in a worker: starts it, and opens connections to it. A page that is in another one, as the inspector is beside the game, uses
 * the server of that one.
 *
 * @module wasm/worker-host
 */

import { BOTS, GAME } from './edition.js';
import { parentPage, wasmModule } from './module.js';

/** The conditions that an address asks for; '' for none. @param {string} search */
export function netemOf(search) {
  return new URLSearchParams(search).get('net') ?? '';
}

/** Has an event `failed` when the server ends. */
export class WorkerHost extends EventTarget {
  /** @param {(url: URL) => Worker} [createWorker] */
  constructor(createWorker = (url) => new Worker(url, { type: 'module' })) {
    super();
    this.bots = BOTS;
    /** Compiled once. */
    this.module = wasmModule();
    /** Why the server has ended; empty while it runs. */
    this.failed = '';
    /** @type {Worker | null} */
    this.worker = null;
    /** Fulfilled when the server runs; fails with a sentence for the reader. @type {Promise<void>} */
    this.ready = this.module.then((module) => this.start(module, createWorker));
    this.ready.catch(({ message }) => { this.failed = message; });
    /** @type {((stats: any) => void)[]} */
    this.pendingStats = [];
    /** Network conditions with a name. @type {{ name: string, about: string }[]} */
    this.presets = [];
    /** The conditions in force. @type {import('../lib/netem-menu.js').NetemResult} */
    this.net = {};
    /** @type {((result: import('../lib/netem-menu.js').NetemResult) => void)[]} */
    this.pendingChanges = [];
  }

  /** @param {WebAssembly.Module} module @param {(url: URL) => Worker} createWorker @returns {Promise<void>} */
  start(module, createWorker) {
    const [seed] = crypto.getRandomValues(new Uint32Array(1));
    const worker = createWorker(new URL('server-worker.js', import.meta.url));
    this.worker = worker;
    worker.postMessage({ start: { module, seed, bots: BOTS, game: GAME, net: netemOf(globalThis.location?.search ?? '') } });
    return new Promise((started, fail) => {
      worker.onmessage = ({ data }) => {
        if (data.started) {
          ({ presets: this.presets, net: this.net } = data.started);
          started();
        }
        if (data.net) this.pendingChanges.shift()?.(data.net);
        if (data.stats) this.pendingStats.shift()?.(data.stats);
      };
      worker.onerror = ({ message }) => {
        this.failed = message ? `The server in this tab has stopped: ${message}. Reload the page.` : 'The server in this tab could not be loaded. Reload the page.';
        worker.terminate();
        fail(new Error(this.failed));
        this.dispatchEvent(new Event('failed'));
      };
    });
  }

  /** A port to a new connection: bytes to and from the server, the number of bytes that were read, and `null` at the end. */
  connect() {
    const { port1, port2 } = new MessageChannel();
    this.ready.then(() => this.worker?.postMessage({ connect: port2 }, [port2]), () => {});
    return port1;
  }

  /**
   * Changes the network conditions between the page and its server.
   * @param {string} text such as `wifi`; '' for a perfect line @returns {Promise<import('../lib/netem-menu.js').NetemResult>}
   */
  setNetem(text) {
    return new Promise((resolve) => {
      this.pendingChanges.push((result) => resolve(this.net = result));
      this.worker?.postMessage({ net: text });
    });
  }

  /** The server's counters, the time that it has taken, and its memory. @returns {Promise<any>} */
  stats() {
    return new Promise((resolve) => {
      this.pendingStats.push(resolve);
      this.worker?.postMessage({ stats: true });
    });
  }
}

/** @type {WorkerHost | null} */
let host = null;

/** The server of this tab; the first call starts it, unless the page around this one has. @returns {WorkerHost} */
export function workerHost() {
  host ??= parentPage() ?? new WorkerHost();
  return host;
}
