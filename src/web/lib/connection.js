/**
 * Keeps one connection to a server up: fetches the packet tables, opens a WebSocket, and does so
 * again after an outage, with growing waits. Packets go through it as bytes; `tickwire.js` knows
 * what they mean.
 *
 * @module lib/connection
 */

import { Attempt, reach } from './attempt.js';
import { Dialect, defaultDialect } from './codec.js';
import { EDITION } from '../wasm/edition.js';
import { LEFT_PAGE, NO_ANSWER, NO_TABLES, TOKEN_WRONG, isFinal, describeClose } from './close-reasons.js';
import { onReturn } from './heartbeat.js';
import { acquireKey } from './resume-key.js';
import { forgetToken, playerToken } from './player-token.js';
import { urlFromRoot } from './room.js';
import { offers, openSocket } from '../wasm/open-socket.js';
import { whyUnreachable } from './unreachable.js';
import { backoffMs } from './backoff.js';

/** The folder of `tickwire.js`: paths of the server are relative to it. */
const ROOT = new URL('../', import.meta.url).href;

/** Offered in the upgrade request. */
const SUBPROTOCOL = 'tickwire.v1';
/** Of a connection that ended without a close frame. */
const ABNORMAL = 1006;
const NORMAL = 1000;
/** A connection that held this long was good: the next outage begins with quick tries again. */
const STABLE_MS = 5000;

/**
 * Why a connection ended.
 * @typedef {object} CloseInfo
 * @property {number} code of the close frame; 1006 without one
 * @property {string} reason the name of the server's rule, or ''
 * @property {string} text the same for people
 * @property {number | null} retryMs time until the next try; null if there is none
 */

/**
 * @typedef {object} Listener
 * @property {(dialect: Dialect) => void} onOpen the WebSocket is open
 * @property {(bytes: Uint8Array) => void} onMessage
 * @property {(closed: CloseInfo) => void} onClose
 * @property {() => void} onPageReturn the page is visible again, or has a network
 */

/** @typedef {Pick<import('../tickwire.js').Options, 'path' | 'dialect' | 'codes' | 'units' | 'WebSocket' | 'token'>} ConnectionOptions */

/** Tables that cannot be had, and will not be had by waiting. */
class TablesUnavailable extends Error {}

export class ReconnectingConnection {
  /** @param {ConnectionOptions} where @param {Listener} listener */
  constructor(where, listener) {
    this.options = where;
    this.key = acquireKey();
    this.token = where.token ?? playerToken();
    this.listener = listener;
    /** Puts a simulated line before a socket. @type {(socket: any) => any} */
    this.wrapSocket = (socket) => socket;
    /** @type {import('../wasm/open-socket.js').Socket | null} */
    this.socket = null;
    /** Number of the current try: what an earlier one brings is void. */
    this.attempt = 0;
    /** Tries since the connection was good. */
    this.retries = 0;
    this.isWaiting = false;
    /** Time of `welcome`; null without a connection. @type {number | null} */
    this.welcomedAt = null;
    this.wasWelcome = false;
    /** Why the browser does not reach the server, as last reported. @type {string | null} */
    this.why = null;
    this.timer = /** @type {any} */ (0);
    /** @type {Attempt<[Dialect, string]> | null} */
    this.current = null;
    this.stopReturns = onReturn(() => {
      if (this.isWaiting || this.current?.isStale) this.open();
      else if (this.welcomedAt !== null) listener.onPageReturn();
    });
  }

  /** An address that the server answers while it runs. */
  get health() {
    const url = new URL(this.options.path ?? 'play', ROOT);
    url.protocol = url.protocol.replace('ws', 'http');
    return new URL(urlFromRoot(url.href, 'healthz'));
  }

  /** Begins an attempt. */
  async open() {
    clearTimeout(this.timer);
    this.current?.end();
    this.isWaiting = false;
    this.attempt += 1;
    const { attempt } = this;
    const { codes, WebSocket } = this.options;
    const isBrowser = WebSocket === undefined && EDITION !== 'tab' && globalThis.document !== undefined;
    const current = new Attempt({
      prepare: async (signal) => {
        // Tables that are fetched are the request that reaches the server.
        const reached = isBrowser && this.retries > 0 && typeof codes === 'object' ? reach(this.health, signal) : null;
        const [dialect, key] = await Promise.all([this.dialect(signal), this.key.get(), reached]);
        return /** @type {[Dialect, string]} */ ([dialect, key]);
      },
      connect: ([dialect, key]) => this.connect(attempt, dialect, key),
      reach: async (signal) => { if (EDITION !== 'tab') await reach(this.health, signal); },
      failed: (error) => this.failed(attempt, error),
    });
    if (!isBrowser) current.steps.reach = () => Promise.reject(new Error(NO_ANSWER));
    this.current = current;
    await current.begin();
  }

  /** An attempt has failed before `welcome`. @param {number} run @param {unknown} error null for one that took too long */
  async failed(run, error) {
    if (error instanceof TablesUnavailable && !this.wasWelcome) return this.onLost(run, ABNORMAL, NO_TABLES, error.message);
    return this.unreachable(run);
  }

  /** Ends an attempt without an answer, with the reason that the browser has. @param {number} run */
  async unreachable(run) {
    const why = await whyUnreachable(this.health).catch(() => null);
    if (run !== this.attempt) return;
    if (why !== null && why !== this.why) console.warn(`tickwire: ${why}`);
    this.why = why;
    this.onLost(run, ABNORMAL, NO_ANSWER, why ?? undefined);
  }

  /** The dialect by the tables in force: the server may be another one than before. @param {AbortSignal} [signal] @returns {Promise<Dialect>} */
  async dialect(signal = undefined) {
    const { path = 'play', codes, dialect, units } = this.options;
    const tables = typeof codes === 'object' ? codes : await fetchTables(codes ?? path, codes === undefined, signal);
    const named = dialect ?? new URL(path, ROOT).searchParams.get('dialect');
    try {
      return new Dialect(tables, named ?? defaultDialect(tables), units);
    } catch (error) {
      throw new TablesUnavailable(/** @type {Error} */ (error).message);
    }
  }

  /** @param {number} run @param {Dialect} dialect @param {string} key */
  connect(run, dialect, key) {
    const { path = 'play', WebSocket } = this.options;
    // Named also where it is the path's own: both ends certainly speak the same.
    const target = /[?&]dialect=/.test(path) ? path : `${path}${path.includes('?') ? '&' : '?'}dialect=${dialect.name}`;
    const socket = this.wrapSocket(openSocket(target, offers(SUBPROTOCOL, key, this.token), ROOT, WebSocket));
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => {
      if (run !== this.attempt) return;
      this.current?.onOpen();
      this.listener.onOpen(dialect);
    };
    socket.onmessage = ({ data }) => { if (run === this.attempt) this.listener.onMessage(new Uint8Array(data)); };
    socket.onclose = ({ code, reason }) => {
      // A browser does not say why a WebSocket was not opened.
      if (code === ABNORMAL && !this.current?.isOpen && globalThis.document !== undefined) this.unreachable(run);
      else this.onLost(run, code, String(reason));
    };
  }

  /** The server has said `welcome`: the try has succeeded. @param {number} now */
  onWelcome(now) {
    this.current?.end();
    this.welcomedAt = now;
    this.wasWelcome = true;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  send(bytes) {
    this.socket?.send(bytes);
  }

  /** Gives up a connection that nobody closed: it is dead, or of no use. @param {string} [text] why */
  abandon(text) {
    this.onLost(this.attempt, ABNORMAL, text === undefined ? NO_ANSWER : '', text);
  }

  /** Leaves for good. */
  close() {
    this.onLost(this.attempt, NORMAL, LEFT_PAGE);
    this.key.giveBack();
    this.stopReturns();
  }

  /** Ends a connection, or a try. @param {number} run @param {number} code @param {string} reason @param {string} [text] */
  onLost(run, code, reason, text = describeClose(code, reason)) {
    if (run !== this.attempt) return;
    clearTimeout(this.timer);
    this.current?.end();
    this.attempt += 1;
    if (reason === TOKEN_WRONG && this.token === playerToken()) forgetToken();
    const { socket } = this;
    this.socket = null;
    // The server takes 1000 for a leave; without a code the player stays for a while.
    if (reason === LEFT_PAGE) socket?.close(NORMAL);
    else socket?.close();
    if (this.welcomedAt !== null && performance.now() - this.welcomedAt > STABLE_MS) this.retries = 0;
    this.welcomedAt = null;
    const retryMs = isFinal(code, reason) ? null : backoffMs(this.retries, Math.random());
    this.retries += 1;
    this.isWaiting = retryMs !== null;
    if (retryMs !== null) this.timer = setTimeout(() => this.open(), retryMs);
    this.listener.onClose({ code, reason, text, retryMs });
  }
}

/**
 * @param {string} place of the tables, or of the endpoint that they are beside @param {boolean} isRelative @param {AbortSignal} [signal]
 * @returns {Promise<import('./codec.js').Codes>}
 * @throws {Error} when the server cannot be reached @throws {TablesUnavailable} when it has none
 */
async function fetchTables(place, isRelative, signal) {
  const url = new URL(place, ROOT);
  url.protocol = url.protocol.replace('ws', 'http');
  const answer = await fetch(isRelative ? new URL('codes.json', url) : url, { cache: 'no-cache', signal });
  if (answer.ok) return answer.json().catch(() => { throw new TablesUnavailable(`${answer.url} has no packet tables`); });
  // Read to its end: what is left unread, the browser reports as a failed request.
  await answer.text();
  const text = `no packet tables at ${answer.url}: status ${answer.status}`;
  throw answer.status === 429 || answer.status >= 500 ? new Error(text) : new TablesUnavailable(text);
}
