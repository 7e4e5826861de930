/**
 * Keeps one connection to a server up: fetches the packet tables, opens a WebSocket, and does so
 * again after an outage, with growing waits. Packets go through it as bytes; `tickwire.js` knows
 * what they mean.
 *
 * @module link
 */

import { Dialect, firstDialect } from './codec.js';
import { LEFT, NO_ANSWER, NO_TABLES, TOKEN_WRONG, isFinal, textOf } from './endings.js';
import { giveKeyBack, takeKey } from './own-key.js';
import { forgetToken, ownToken } from './own-token.js';
import { openSocket } from './socket.js';
import { waitMs } from './waits.js';

/** Offered in the upgrade request. */
const SUBPROTOCOL = 'tickwire.v1';
/** Of a connection that ended without a close frame. */
const ABNORMAL = 1006;
const NORMAL = 1000;
/** Time that one try may take, from the tables to `welcome`. */
const TRY_MS = 8000;
/** A connection that held this long was good: the next outage begins with quick tries again. */
const GOOD_MS = 5000;

/**
 * Why a connection ended.
 * @typedef {object} Closed
 * @property {number} code of the close frame; 1006 without one
 * @property {string} reason the name of the server's rule, or ''
 * @property {string} text the same for people
 * @property {number | null} retryMs time until the next try; null if there is none
 */

/**
 * @typedef {object} Listener
 * @property {(dialect: Dialect) => void} opened the WebSocket is open
 * @property {(bytes: Uint8Array) => void} message
 * @property {(closed: Closed) => void} ended
 */

/** @typedef {Pick<import('./tickwire.js').Options, 'path' | 'dialect' | 'codes' | 'units' | 'WebSocket' | 'token'>} Where */

/** Tables that cannot be had, and will not be had by waiting. */
class NoTables extends Error {}

export class Link {
  /** @param {Where} where @param {Listener} listener */
  constructor(where, listener) {
    this.where = where;
    this.key = takeKey();
    this.token = where.token ?? ownToken();
    this.listener = listener;
    /** Puts a simulated line before a socket. @type {(socket: any) => any} */
    this.around = (socket) => socket;
    /** @type {import('./socket.js').Socket | null} */
    this.socket = null;
    /** Number of the current try: what an earlier one brings is void. */
    this.run = 0;
    /** Tries since the connection was good. */
    this.attempt = 0;
    this.isWaiting = false;
    /** Time of `welcome`; null without a connection. @type {number | null} */
    this.welcomedAt = null;
    this.wasWelcome = false;
    this.timer = /** @type {any} */ (0);
    this.retryNow = () => {
      if (this.isWaiting && !globalThis.document?.hidden) this.open();
    };
    globalThis.addEventListener?.('online', this.retryNow);
    globalThis.document?.addEventListener('visibilitychange', this.retryNow);
  }

  /** Begins a try. */
  async open() {
    clearTimeout(this.timer);
    this.isWaiting = false;
    this.run += 1;
    const { run } = this;
    this.timer = setTimeout(() => this.broken(run, ABNORMAL, NO_ANSWER), TRY_MS);
    try {
      const dialect = await this.dialect();
      if (run === this.run) this.connect(run, dialect);
    } catch (error) {
      const isFatal = error instanceof NoTables && !this.wasWelcome;
      this.broken(run, ABNORMAL, isFatal ? NO_TABLES : NO_ANSWER, isFatal ? error.message : undefined);
    }
  }

  /** The dialect by the tables in force: the server may be another one than before. @returns {Promise<Dialect>} */
  async dialect() {
    const { path = 'play', codes, dialect, units } = this.where;
    const tables = typeof codes === 'object' ? codes : await fetchTables(codes ?? path, codes === undefined);
    const named = dialect ?? new URL(path, import.meta.url).searchParams.get('dialect');
    try {
      return new Dialect(tables, named ?? firstDialect(tables), units);
    } catch (error) {
      throw new NoTables(/** @type {Error} */ (error).message);
    }
  }

  /** @param {number} run @param {Dialect} dialect */
  connect(run, dialect) {
    const { path = 'play', WebSocket } = this.where;
    // Named also where it is the path's own: both ends certainly speak the same.
    const target = /[?&]dialect=/.test(path) ? path : `${path}${path.includes('?') ? '&' : '?'}dialect=${dialect.name}`;
    // A dialect without a place for it has the token in its path.
    const token = this.token === null || dialect.takes('hello', 'token') ? '' : `&token=${encodeURIComponent(this.token)}`;
    const socket = this.around(openSocket(`${target}&inspect_key=${this.key}${token}`, [SUBPROTOCOL], import.meta.url, WebSocket));
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => { if (run === this.run) this.listener.opened(dialect); };
    socket.onmessage = ({ data }) => { if (run === this.run) this.listener.message(new Uint8Array(data)); };
    socket.onclose = ({ code, reason }) => this.broken(run, code, String(reason));
  }

  /** The server has said `welcome`: the try has succeeded. @param {number} now */
  welcomed(now) {
    clearTimeout(this.timer);
    this.welcomedAt = now;
    this.wasWelcome = true;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  send(bytes) {
    this.socket?.send(bytes);
  }

  /** Gives up a connection that nobody closed: it is dead, or of no use. @param {string} [text] why */
  giveUp(text) {
    this.broken(this.run, ABNORMAL, text === undefined ? NO_ANSWER : '', text);
  }

  /** Leaves for good. */
  close() {
    this.broken(this.run, NORMAL, LEFT);
    giveKeyBack(this.key);
  }

  /** Ends a connection, or a try. @param {number} run @param {number} code @param {string} reason @param {string} [text] */
  broken(run, code, reason, text = textOf(code, reason)) {
    if (run !== this.run) return;
    clearTimeout(this.timer);
    this.run += 1;
    if (reason === TOKEN_WRONG && this.token === ownToken()) forgetToken();
    const { socket } = this;
    this.socket = null;
    // The server takes 1000 for a leave; without a code the player stays for a while.
    if (reason === LEFT) socket?.close(NORMAL);
    else socket?.close();
    if (this.welcomedAt !== null && performance.now() - this.welcomedAt > GOOD_MS) this.attempt = 0;
    this.welcomedAt = null;
    const retryMs = isFinal(code, reason) ? null : waitMs(this.attempt, Math.random());
    this.attempt += 1;
    this.isWaiting = retryMs !== null;
    if (retryMs !== null) this.timer = setTimeout(() => this.open(), retryMs);
    this.listener.ended({ code, reason, text, retryMs });
  }
}

/**
 * @param {string} place of the tables, or of the endpoint that they are beside @param {boolean} isBeside
 * @returns {Promise<import('./codec.js').Codes>}
 * @throws {Error} when the server cannot be reached @throws {NoTables} when it has none
 */
async function fetchTables(place, isBeside) {
  const url = new URL(place, import.meta.url);
  url.protocol = url.protocol.replace('ws', 'http');
  const answer = await fetch(isBeside ? new URL('codes.json', url) : url, { cache: 'no-cache' });
  if (answer.ok) return answer.json().catch(() => { throw new NoTables(`${answer.url} has no packet tables`); });
  // Read to its end: what is left unread, the browser reports as a failed request.
  await answer.text();
  const text = `no packet tables at ${answer.url}: status ${answer.status}`;
  throw answer.status === 429 || answer.status >= 500 ? new Error(text) : new NoTables(text);
}
