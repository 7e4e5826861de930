/**
 * One connection attempt: a request by `fetch`, then the WebSocket, then `welcome`. Each step has a
 * time limit. This module also has the delays between attempts, and finds the reason why a browser
 * cannot reach a server.
 *
 * After failed WebSockets, browsers delay the next WebSocket, Firefox by up to a minute. The
 * attempt therefore sends a request before it opens a WebSocket, and keeps a connecting WebSocket
 * while the server responds to requests.
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

  /** Whether the attempt may be waiting for a request that was sent over an earlier network. */
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

/**
 * Delay before each attempt of an outage, ms. The last delay repeats. After a server restart, at
 * most three attempts are needed.
 */
const BACKOFF_MS = [150, 400, 800, 1500, 3000, 6000, 10000];
/** Random variation of each delay, as a fraction. It spreads the clients of a restarted server. */
const JITTER = 0.3;

/**
 * Returns the delay before a reconnect attempt.
 * @param {number} attempt 0 for the first attempt of an outage
 * @param {number} random 0 to 1
 * @returns {number} ms
 */
export function backoffMs(attempt, random) {
  const base = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)];
  return Math.round(base * (1 - JITTER + 2 * JITTER * random));
}

/** Names of the permission for local network addresses. Browsers have renamed it. */
const PERMISSIONS = ['loopback-network', 'local-network', 'local-network-access'];
/** Hosts of the same machine: RFC 6761, RFC 1122, RFC 4291. */
const LOOPBACK = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** Hosts of a local network: RFC 1918, RFC 3927, RFC 4193, RFC 4291, RFC 6762. */
const LOCAL = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|\[f[cd]|\[fe[89ab]|[^.:[]+$)|\.local$/;

/** Origins that the page's Content-Security-Policy has blocked. @type {Set<string>} */
const blocked = new Set();
globalThis.document?.addEventListener('securitypolicyviolation', ({ blockedURI }) => {
  // A blocked scheme, such as `inline`, is not a URL.
  if (URL.canParse?.(blockedURI)) blocked.add(originOf(new URL(blockedURI)));
});

/** Returns the HTTP origin of a request or WebSocket address. @param {URL} url */
const originOf = (url) => `${url.protocol.replace('ws', 'http')}//${url.host}`;

/**
 * @typedef {object} Browser
 * @property {Pick<Location, 'origin' | 'protocol' | 'hostname'>} [page] location of the page;
 *   undefined outside a browser
 * @property {typeof fetch} [get]
 * @property {Permissions} [permissions]
 */

/**
 * Finds the reason why a page cannot reach a server.
 * @param {URL} url address that the server serves to every page that may play
 * @param {Browser} [browser]
 * @returns {Promise<string | null>} sentence for the player; null if the browser is not the reason
 */
export async function whyUnreachable(url, { page = globalThis.location, get = fetch, permissions = globalThis.navigator?.permissions } = {}) {
  const server = originOf(url);
  if (!page || page.origin === server) return null;
  const isReached = (/** @type {RequestInit} */ how) => get(url, { cache: 'no-store', signal: AbortSignal.timeout?.(3000), ...how }).then(() => true, () => false);
  if (await isReached({})) return null;
  const isThere = await isReached({ mode: 'no-cors' });
  // The event `securitypolicyviolation` follows the failed request.
  if (blocked.has(server)) return `The Content-Security-Policy of this page blocks ${server}: add it to connect-src.`;
  if (isThere) {
    return `The server ${server} answers, and does not allow pages of ${page.origin}: start it with --allow-origin ${page.origin}.`;
  }
  const isLoopback = LOOPBACK.test(url.hostname);
  const isLocal = (isLoopback || LOCAL.test(url.hostname)) && !LOOPBACK.test(page.hostname);
  const permission = isLocal ? await permissionOf(permissions) : null;
  const place = `${isLoopback ? 'programs on this machine' : 'the local network'}, where ${server} is`;
  if (permission === 'denied') return `The browser denies this page access to ${place}: allow it in the browser's settings of this site, and reload the page.`;
  if (permission === 'prompt') return `The browser waits for your permission to let this page access ${place}.`;
  if (page.protocol === 'https:' && url.protocol === 'http:' && !isLoopback) {
    return `This page was loaded by https, and the browser blocks ${server}, which is not: serve the game by https.`;
  }
  return null;
}

/**
 * Returns the state of the local network permission, under one of its names.
 * @param {Permissions | undefined} permissions
 */
async function permissionOf(permissions) {
  const states = PERMISSIONS.map(async (name) => (await permissions?.query({ name: /** @type {any} */ (name) }))?.state);
  const known = (await Promise.allSettled(states)).map((one) => (one.status === 'fulfilled' ? one.value : undefined));
  return known.find((state) => state === 'denied') ?? known.find((state) => state === 'prompt') ?? null;
}
