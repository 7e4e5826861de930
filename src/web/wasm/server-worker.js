/**
 * The server of the browser edition, in a worker. It runs the ticks and moves the bytes of each
 * connection between the server and a port, without reading them.
 *
 * ```text
 *  page ── WorkerSocket ──► port ──► ServerWorker ──► server (WebAssembly)
 * ```
 *
 * @module wasm/server-worker
 */

import { WasmInstance } from './instance.js';

/** Number of unread bytes at which the worker stops sending to a page, like a full socket. */
export const WINDOW_BYTES = 256 * 1024;

/**
 * A connection: its port, and the bytes sent to the page but not read yet.
 * @typedef {{ port: MessagePort, unread: number }} WorkerConnection
 */

export class ServerWorker {
  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    this.tab = new WasmInstance(instance);
    /** Connections by the server's number. @type {Map<number, WorkerConnection>} */
    this.connections = new Map();
    /** CPU time of the server, ms. */
    this.busyMs = 0;
    /** Network conditions, such as `wifi`; '' for no delay. */
    this.netem = '';
    /** Called if work may be due earlier than the time that `advance` returned. */
    this.wake = () => {};
  }

  /**
   * Starts the server.
   * @param {{ seed: number, bots: number, game?: string, net?: string }} options
   * @returns presets, and the current conditions
   */
  start({ seed, bots, game = '', net = '' }) {
    this.tab.seed();
    // A program with a game of its own registers the game here.
    this.tab.wasm.main?.(0, 0);
    this.tab.setInputText(JSON.stringify({ seed, bots, epoch_ms: Date.now(), game: game || undefined }));
    const { presets } = this.tab.json(this.tab.wasm.server_start(performance.now()));
    return { presets, net: this.setNetem(net) };
  }

  /**
   * Sets the network conditions of all connections.
   * @param {string} text
   * @returns {import('../lib/netem-menu.js').NetemResult}
   */
  setNetem(text) {
    this.tab.setInputText(text);
    try {
      const result = this.tab.json(this.tab.wasm.server_net());
      this.netem = text;
      return result;
    } catch (error) {
      return { error: /** @type {Error} */ (error).message };
    }
  }

  /** Opens a connection with this port at the other end. @param {MessagePort} port */
  connect(port) {
    const number = this.tab.wasm.server_open();
    if (number === 0) return port.postMessage(null);
    const line = { port, unread: 0 };
    this.connections.set(number, line);
    port.onmessage = ({ data }) => this.measure(() => this.receive(number, line, data));
  }

  /**
   * Receives a message from the page.
   * @param {number} number
   * @param {WorkerConnection} line
   * @param {ArrayBuffer | number | { datagram: ArrayBuffer } | null} data bytes, or the number of
   *   bytes that the page has read, or a datagram, or null at the end of the connection
   */
  receive(number, line, data) {
    if (!this.connections.has(number)) return;
    if (typeof data === 'number') line.unread -= data;
    else if (data !== null && 'datagram' in data) {
      this.tab.setInput(new Uint8Array(data.datagram));
      this.tab.wasm.server_receive_datagram(number, performance.now());
    } else if (data !== null) {
      this.tab.setInput(new Uint8Array(data));
      this.tab.wasm.server_receive(number, performance.now());
    } else {
      this.connections.delete(number);
      this.tab.wasm.server_close(number, performance.now());
      return;
    }
    this.deliver(number, line);
    // With network conditions, bytes arrive between two ticks.
    if (this.netem !== '') this.wake();
  }

  /**
   * Sends the page the queued bytes of a connection.
   * @param {number} number
   * @param {WorkerConnection} line
   */
  deliver(number, line) {
    this.deliverDatagrams(number, line);
    if (line.unread >= WINDOW_BYTES) return;
    const length = this.tab.wasm.server_take(number);
    if (length > 0) {
      const { buffer } = this.tab.outputBytes(length).slice();
      line.unread += length;
      line.port.postMessage(buffer, [buffer]);
    }
    if (this.tab.wasm.server_is_over(number) !== 1) return;
    this.connections.delete(number);
    line.port.postMessage(null);
  }

  /**
   * Sends the datagrams of a connection's lane to the page.
   * @param {number} number
   * @param {WorkerConnection} line
   */
  deliverDatagrams(number, line) {
    for (;;) {
      const length = this.tab.wasm.server_take_datagram(number);
      if (length === 0) return;
      const { buffer: datagram } = this.tab.outputBytes(length).slice();
      line.port.postMessage({ datagram }, [datagram]);
    }
  }

  /** Runs all due work. @returns {number} time until work is due, ms */
  advance() {
    return this.measure(() => {
      const wait = this.tab.wasm.server_advance(performance.now());
      for (const [number, line] of this.connections) this.deliver(number, line);
      return wait;
    });
  }

  /** @template T @param {() => T} work @returns {T} */
  measure(work) {
    const from = performance.now();
    const result = work();
    this.busyMs += performance.now() - from;
    return result;
  }

  stats() {
    return { ...this.tab.json(this.tab.wasm.server_stats()), busyMs: this.busyMs, memoryBytes: this.tab.wasm.memory.buffer.byteLength };
  }
}

/**
 * Listens to the page. Its first message starts the server.
 * @param {Pick<Window, 'onmessage' | 'onunhandledrejection' | 'postMessage'>} scope
 */
function serve(scope) {
  /** @type {ServerWorker | null} */
  let server = null;
  let timer = 0;
  const tick = () => {
    clearTimeout(timer);
    timer = setTimeout(tick, server?.advance());
  };
  scope.onmessage = async ({ data }) => {
    if (data.start) {
      const started = new ServerWorker(await WebAssembly.instantiate(/** @type {WebAssembly.Module} */ (data.start.module), {}));
      const info = started.start(data.start);
      server = started;
      server.wake = tick;
      tick();
      scope.postMessage({ started: info });
    } else if (data.connect) server?.connect(data.connect);
    else if (data.net !== undefined) scope.postMessage({ net: server?.setNetem(data.net) });
    else if (data.stats) scope.postMessage({ stats: server?.stats() });
  };
  // A rejected promise becomes an error event, which the page reports.
  scope.onunhandledrejection = (event) => { throw event.reason; };
}

if ('WorkerGlobalScope' in globalThis) serve(self);
