/**
 * One attempt to connect: a request by `fetch`, then the WebSocket, then `welcome`, each within a limit.
 *
 * After failed WebSockets a browser delays the next one, Firefox by up to a minute. Therefore no WebSocket is opened before a request has reached the
 * server, and a WebSocket that is still connecting is kept while the server answers requests.
 *
 * @module lib/attempt
 */

/** Limit of each step, ms. */
export const CONNECT_TIMEOUT_MS = 8000;
/** Limit of a WebSocket that is connecting while the server answers requests, ms: longer than the longest delay of a browser. */
const DELAYED_MS = 90_000;
/** An attempt that is older than this begins again when the page becomes visible or gets a network, ms. */
const STALE_MS = 1000;
/** Statuses of a gateway without its server. */
const GATEWAY_STATUSES = [502, 504];

/**
 * Sends a request, and resolves when the server has answered it, with any status of its own.
 * @param {URL | string} url @param {AbortSignal} [signal]
 * @throws {Error} without an answer, and for the answer of a gateway that has no server
 */
export async function reach(url, signal) {
  const { status } = await fetch(url, { method: 'HEAD', mode: 'no-cors', cache: 'no-store', signal });
  if (GATEWAY_STATUSES.includes(status)) throw new Error(`no server: status ${status}`);
}

/**
 * @template T
 * @typedef {object} Steps
 * @property {(signal: AbortSignal) => Promise<T>} prepare fetches what the connection needs; it rejects if the server cannot be reached
 * @property {(prepared: T) => void} connect opens the WebSocket
 * @property {(signal: AbortSignal) => Promise<void>} reach rejects if the server does not answer requests
 * @property {(error: unknown) => void} failed called once, unless the attempt has ended; null: a limit has passed
 */

/** See the module. @template T */
export class Attempt {
  /** @param {Steps<T>} steps */
  constructor(steps) {
    this.steps = steps;
    this.abort = new AbortController();
    /** @type {any} */
    this.timer = 0;
    this.beganAt = performance.now();
    /** When the WebSocket was made; null before. @type {number | null} */
    this.connectingAt = null;
    this.isOpen = false;
    this.hasEnded = false;
    /** Whether the server answers requests while the WebSocket is still connecting. */
    this.isDelayed = false;
  }

  /** Whether the attempt may hang in a request from before the network changed. */
  get isStale() {
    return !this.hasEnded && this.connectingAt === null && performance.now() - this.beganAt > STALE_MS;
  }

  async begin() {
    this.limit();
    try {
      const prepared = await this.steps.prepare(this.abort.signal);
      if (this.hasEnded) return;
      this.connectingAt = performance.now();
      this.steps.connect(prepared);
      if (!this.hasEnded && !this.isOpen) this.schedule(() => this.probe());
    } catch (error) {
      this.fail(error);
    }
  }

  /** Looks whether the server answers requests: then the browser delays the WebSocket. */
  async probe() {
    this.limit();
    try {
      await this.steps.reach(this.abort.signal);
    } catch (error) {
      if (!this.isOpen) this.fail(error);
      return;
    }
    if (this.hasEnded || this.isOpen) return;
    this.isDelayed = true;
    if (performance.now() - (this.connectingAt ?? 0) > DELAYED_MS) this.fail(null);
    else this.schedule(() => this.probe());
  }

  /** The WebSocket is open. */
  onOpen() {
    this.isOpen = true;
    this.isDelayed = false;
    if (!this.hasEnded) this.limit();
  }

  /** Ends the attempt, as after `welcome`. */
  end() {
    this.hasEnded = true;
    this.isDelayed = false;
    clearTimeout(this.timer);
    this.abort.abort();
  }

  limit() {
    this.schedule(() => this.fail(null));
  }

  /** @param {() => void} call */
  schedule(call) {
    clearTimeout(this.timer);
    this.timer = setTimeout(call, CONNECT_TIMEOUT_MS);
  }

  /** @param {unknown} error */
  fail(error) {
    if (this.hasEnded) return;
    this.end();
    this.steps.failed(error);
  }
}
