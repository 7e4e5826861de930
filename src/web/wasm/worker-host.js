/**
 * Page side of the server in a worker: starts the worker and opens connections to it. An iframe,
 * such as the inspector, uses the worker of its parent page.
 *
 * @module wasm/worker-host
 */

import { BOTS, GAME } from './edition.js';
import { parentPage, wasmModule } from './module.js';

/** Returns the network conditions in the address; '' for none. @param {string} search */
export function netemOf(search) {
  return new URLSearchParams(search).get('netem') ?? '';
}

/** Starts the server in a worker. Fires the event `failed` when the server stops. */
export class WorkerHost extends EventTarget {
  /** @param {(url: URL) => Worker} [createWorker] */
  constructor(createWorker = (url) => new Worker(url, { type: 'module' })) {
    super();
    this.bots = BOTS;
    /** Compiled `tickwire.wasm`. */
    this.module = wasmModule();
    /** Reason why the server has stopped; '' while it runs. */
    this.failed = '';
    /** @type {Worker | null} */
    this.worker = null;
    /**
     * Resolves when the server runs; rejects with a sentence for the player.
     * @type {Promise<void>}
     */
    this.ready = this.module.then((module) => this.start(module, createWorker));
    this.ready.catch(({ message }) => { this.failed = message; });
    /** @type {((stats: any) => void)[]} */
    this.pendingStats = [];
    /** Named network conditions. @type {{ name: string, about: string }[]} */
    this.presets = [];
    /** Current network conditions. @type {import('../lib/netem-menu.js').NetemResult} */
    this.net = {};
    /** @type {((result: import('../lib/netem-menu.js').NetemResult) => void)[]} */
    this.pendingChanges = [];
  }

  /**
   * @param {WebAssembly.Module} module
   * @param {(url: URL) => Worker} createWorker
   * @returns {Promise<void>}
   */
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

  /**
   * Opens a connection. The port carries bytes in both directions, the number of bytes read, and
   * null at the end.
   */
  connect() {
    const { port1, port2 } = new MessageChannel();
    this.ready.then(() => this.worker?.postMessage({ connect: port2 }, [port2]), () => {});
    return port1;
  }

  /**
   * Sets the network conditions between the page and its server.
   * @param {string} text such as `wifi`; '' for no delay
   * @returns {Promise<import('../lib/netem-menu.js').NetemResult>}
   */
  setNetem(text) {
    return new Promise((resolve) => {
      this.pendingChanges.push((result) => resolve(this.net = result));
      this.worker?.postMessage({ net: text });
    });
  }

  /** Returns the counters, the CPU time and the memory of the server. @returns {Promise<any>} */
  stats() {
    return new Promise((resolve) => {
      this.pendingStats.push(resolve);
      this.worker?.postMessage({ stats: true });
    });
  }
}

/** @type {WorkerHost | null} */
let host = null;

/**
 * Returns the server of this tab. The first call starts it, unless the parent page has one.
 * @returns {WorkerHost}
 */
export function workerHost() {
  host ??= parentPage() ?? new WorkerHost();
  return host;
}
