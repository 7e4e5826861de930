/**
 * One connection attempt: a request by `fetch`, then the WebSocket, then `welcome`. Each step has a
 * time limit.
 *
 * Browsers delay a WebSocket after failed ones, Firefox by up to a minute. The attempt therefore
 * sends a request before it opens a WebSocket, and keeps a connecting WebSocket while the server
 * responds to requests.
 *
 * @module lib/attempt
 */

/** Time limit of each step, ms. */
export const CONNECT_TIMEOUT_MS = 8000;
/**
 * Time limit of a connecting WebSocket while the server responds to requests, ms. No browser delays
 * a WebSocket for longer.
 */
const DELAYED_MS = 90_000;
/** Age after which a page that becomes visible or online restarts the attempt, ms. */
const STALE_MS = 1000;
/** Status codes of a gateway that cannot reach its server. */
const GATEWAY_STATUSES = [502, 504];

/**
 * Sends a HEAD request and resolves when the server itself responds, with any status.
 * @param {URL | string} url
 * @param {AbortSignal} [signal]
 * @throws {Error} if there is no response, or a gateway cannot reach the server
 */
export async function reach(url, signal) {
  const { status } = await fetch(url, { method: 'HEAD', mode: 'no-cors', cache: 'no-store', signal });
  if (GATEWAY_STATUSES.includes(status)) throw new Error(`no server: status ${status}`);
}

/**
 * @template T
 * @typedef {object} Steps
 * @property {(signal: AbortSignal) => Promise<T>} prepare fetches what `connect` needs; rejects if
 *   the server is unreachable
 * @property {(prepared: T) => void} connect opens the WebSocket
 * @property {(signal: AbortSignal) => Promise<void>} reach rejects if the server does not respond
 *   to requests
 * @property {(error: unknown) => void} failed called at most once; the error is null after a time
 *   limit
 */

/** One connection attempt with time limits. @template T */
export class Attempt {
  /** @param {Steps<T>} steps */
  constructor(steps) {
    this.steps = steps;
    this.abort = new AbortController();
    /** @type {any} */
    this.timer = 0;
    this.beganAt = performance.now();
    /** Time at which the WebSocket was created, ms; null before that. @type {number | null} */
    this.connectingAt = null;
    this.isOpen = false;
    this.hasEnded = false;
    /**
     * Whether the browser delays the WebSocket: it is connecting, and the server responds to
     * requests.
     */
    this.isDelayed = false;
  }

  /** Whether the attempt may wait for a request that was sent over an earlier network. */
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

  /** Checks whether the server responds to requests while the WebSocket is connecting. */
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

  /** Restarts the time limit when the WebSocket opens. */
  onOpen() {
    this.isOpen = true;
    this.isDelayed = false;
    if (!this.hasEnded) this.limit();
  }

  /** Ends the attempt, for example after `welcome`. */
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
