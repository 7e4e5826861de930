/**
 * A reconnecting connection to a server: fetches the packet tables, opens a WebSocket, and repeats
 * this with backoff after an outage. It carries packets as bytes; `tickwire.js` and the game's page
 * decode them.
 *
 * @module lib/connection
 */

import { Attempt, reach, backoffMs, whyUnreachable } from './attempt.js';
import { Dialect, defaultDialect } from './codec.js';
import { EDITION } from '../wasm/edition.js';
import { LEFT_PAGE, NO_ANSWER, NO_TABLES, TOKEN_WRONG, isFinal, describeClose } from './close-reasons.js';
import { onReturn } from './heartbeat.js';
import { acquireKey } from './resume.js';
import { forgetToken, playerToken, urlFromRoot } from './address.js';
import { Lane, REJECTIONS, hasLanes } from './lane.js';
import { RoomChoice } from './room-choice.js';
import { RoomOwner, atOwner } from './room-owner.js';
import { offers, openChannel, openSocket } from '../wasm/open-socket.js';

/** `readyState` of an open WebSocket. Node before 22 has no global `WebSocket`. */
const OPEN = 1;
/**
 * Folder of `tickwire.js`, without the version of the page's files. Paths of the server are
 * relative to it.
 */
const ROOT = new URL('../', import.meta.url).href.replace(/\/v\/[0-9a-f]{16}\/$/, '/');

/** Version of the protocol, in `hello` and `welcome`. */
export const VERSION = 1;
/** Modes of `hello`. `lockstep` is an additional bit. */
export const MODE = Object.freeze({ watch: 0, play: 1, lockstep: 2 });
/** Subprotocol that the upgrade request offers. */
const SUBPROTOCOL = 'tickwire.v1';
/** Close code of a connection that ended without a close frame. */
const ABNORMAL = 1006;
const NORMAL = 1000;
/**
 * Duration after which a connection is stable, ms. After a stable connection, the retry delays
 * start from the shortest.
 */
const STABLE_MS = 5000;

/**
 * Reason why a connection ended.
 * @typedef {object} CloseInfo
 * @property {number} code code of the close frame; 1006 without a close frame
 * @property {string} reason name of the server's rule, or ''
 * @property {string} text description for the player
 * @property {number | null} retryMs delay before the next attempt, ms; null if there is none
 */

/**
 * @typedef {object} Listener
 * @property {(dialect: Dialect) => void} onOpen called when the WebSocket opens
 * @property {(bytes: Uint8Array) => void} onMessage
 * @property {(bytes: Uint8Array, nowMs: number) => void} [onDatagramPacket] called with each packet
 *   by datagram
 * @property {(closed: CloseInfo) => void} onClose
 * @property {() => void} onPageReturn called when the page becomes visible or online
 * @property {() => void} [onAttempt] called when an attempt starts
 * @property {(name: string) => void} [onRoom] called when the page has found the name of the room
 *   that the server has chosen
 */

/**
 * @typedef {Pick<import('../tickwire.js').Options<unknown>, 'path' | 'dialect' | 'codes' |
 *   'units' | 'WebSocket' | 'token' | 'room' | 'where' | 'lane'>} Options
 */

/**
 * Further options of the game's page.
 * @typedef {object} PageOptions
 * @property {(signal: AbortSignal) => Promise<Dialect>} [loadDialect] loads the packet tables of
 *   the option `dialect`, and all other data that the page needs before `hello`. The WebSocket
 *   opens at the same time
 * @property {(code: number, reason: string) => boolean} [isFinal] whether the page does not
 *   reconnect
 */

/** @typedef {Options & PageOptions} ConnectionOptions */

/** @typedef {import('../wasm/open-socket.js').Socket} Socket */
/**
 * Data for opening a WebSocket: the dialect, or a promise of the dialect, and the resume key.
 * @typedef {{ dialect: Dialect | Promise<Dialect>, key: string }} Prepared
 */

/** The packet tables are missing or do not fit. A retry would not help. */
class TablesUnavailable extends Error {}

export class ReconnectingConnection {
  /** @param {ConnectionOptions} where @param {Listener} listener */
  constructor(where, listener) {
    this.options = where;
    this.key = acquireKey();
    this.token = where.token ?? playerToken();
    /** The room, which the server may choose. */
    this.room = new RoomChoice(EDITION === 'tab' ? {} : where, this.endpoint.href);
    /** The process of a cluster that has the room. */
    this.owner = new RoomOwner();
    this.listener = listener;
    /**
     * Wraps a new socket, for example in a simulated network.
     * @type {(socket: Socket) => Socket}
     */
    this.wrapSocket = (socket) => socket;
    /** @type {Socket | null} */
    this.socket = null;
    /** Number of the current attempt. Events of earlier attempts are dropped. */
    this.attempt = 0;
    /** Number of attempts since the last stable connection. */
    this.retries = 0;
    this.isWaiting = false;
    /** Time of `welcome`, ms; null without a connection. @type {number | null} */
    this.welcomedAt = null;
    this.wasWelcome = false;
    /** Last reported reason why the browser does not reach the server. @type {string | null} */
    this.why = null;
    this.timer = /** @type {any} */ (0);
    /** @type {Attempt<Prepared> | null} */
    this.current = null;
    /** Resume key of the last attempt; '' before the first. */
    this.resumeKey = '';
    /** Dialect of the open connection. @type {Dialect | null} */
    this.openDialect = null;
    /** Lane of the open connection, once it is requested. @type {Lane | null} */
    this.lane = null;
    /**
     * Wraps a new channel for datagrams, as `wrapSocket` does.
     * @type {(open: typeof openChannel) => typeof openChannel}
     */
    this.wrapChannel = (open) => open;
    /**
     * Whether the page uses a lane if the server has one. By default not in the browser edition,
     * whose inspector shows the frames of each key press.
     */
    this.wantsLane = where.lane ?? EDITION !== 'tab';
    this.stopReturns = onReturn(() => {
      if (this.isWaiting || this.current?.isStale) this.open();
      else if (this.welcomedAt !== null) listener.onPageReturn();
    });
  }

  /** Address of the endpoint, with the scheme of requests. */
  get endpoint() {
    const url = new URL(this.options.path ?? 'play', ROOT);
    url.protocol = url.protocol.replace('ws', 'http');
    return url;
  }

  /** Address that a running server responds to. */
  get health() {
    return new URL(urlFromRoot(this.endpoint.href, 'healthz'));
  }

  /** Starts an attempt. */
  async open() {
    clearTimeout(this.timer);
    this.current?.end();
    this.isWaiting = false;
    this.attempt += 1;
    const { attempt } = this;
    const { codes, WebSocket, loadDialect } = this.options;
    const isBrowser = WebSocket === undefined && EDITION !== 'tab' && globalThis.document !== undefined;
    const current = new Attempt({
      prepare: async (signal) => {
        // Fetching the tables already shows that the server responds.
        const reached = isBrowser && this.retries > 0 && (loadDialect || typeof codes === 'object') ? reach(this.health, signal) : null;
        const loading = this.dialect(signal);
        // `onSocketOpen` handles the error.
        loading.catch(() => {});
        const [key, dialect] = await Promise.all([this.key.get(), loadDialect ? null : loading, reached, isBrowser ? this.findOwner() : null]);
        return { dialect: dialect ?? loading, key };
      },
      connect: (prepared) => this.connect(attempt, prepared),
      reach: async (signal) => { if (EDITION !== 'tab') await reach(this.health, signal); },
      failed: (error) => this.failed(attempt, error),
    });
    if (!isBrowser) current.steps.reach = () => Promise.reject(new Error(NO_ANSWER));
    this.current = current;
    this.listener.onAttempt?.();
    await current.begin();
  }

  /** Finds the process of a cluster to which the attempt connects. */
  findOwner() {
    return this.owner.find(this.endpoint.href, this.room.name, location.protocol === 'https:');
  }

  /**
   * Handles an attempt that failed before `welcome`.
   * @param {number} attempt
   * @param {unknown} error null after a time limit
   */
  async failed(attempt, error) {
    this.owner.onFailed();
    if (error instanceof TablesUnavailable && !this.wasWelcome) return this.onLost(attempt, ABNORMAL, NO_TABLES, error.message);
    return this.unreachable(attempt);
  }

  /**
   * Ends an attempt to which the server did not respond. Reports the reason if the browser reveals
   * it.
   * @param {number} attempt
   */
  async unreachable(attempt) {
    const why = await whyUnreachable(this.health).catch(() => null);
    if (attempt !== this.attempt) return;
    if (why !== null && why !== this.why) console.warn(`tickwire: ${why}`);
    this.why = why;
    this.onLost(attempt, ABNORMAL, NO_ANSWER, why ?? undefined);
  }

  /**
   * Fetches the packet tables and returns the dialect. A restarted server may have other tables.
   * @param {AbortSignal} [signal]
   * @returns {Promise<Dialect>}
   */
  async dialect(signal = undefined) {
    const { path = 'play', codes, dialect, units, loadDialect } = this.options;
    if (loadDialect && signal) return loadDialect(signal);
    const tables = typeof codes === 'object' ? /** @type {import('./codec.js').Codes} */ (codes) : await fetchTables(codes ?? path, codes === undefined, signal);
    const named = dialect ?? new URL(path, ROOT).searchParams.get('dialect');
    try {
      return new Dialect(tables, named ?? defaultDialect(tables), { units });
    } catch (error) {
      throw new TablesUnavailable(/** @type {Error} */ (error).message);
    }
  }

  /** @param {number} attempt @param {Prepared} prepared */
  connect(attempt, { dialect, key }) {
    const { path = 'play', WebSocket } = this.options;
    this.resumeKey = key;
    // The dialect is sent even if it is the default of the path, so that both ends use the same
    // dialect. A dialect that is still loading is the default of the path.
    const name = dialect instanceof Dialect ? dialect.name : null;
    const target = name === null || /[?&]dialect=/.test(path) ? path : `${path}${path.includes('?') ? '&' : '?'}dialect=${name}`;
    const url = EDITION === 'tab' ? target : atOwner(this.room.urlOf(new URL(target, ROOT)), this.owner.url).href;
    const socket = this.wrapSocket(openSocket(url, offers(SUBPROTOCOL, key, this.token), ROOT, WebSocket));
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => { if (attempt === this.attempt) this.onSocketOpen(dialect); };
    socket.onmessage = ({ data }) => { if (attempt === this.attempt) this.listener.onMessage(new Uint8Array(/** @type {ArrayBuffer} */ (data))); };
    socket.onclose = ({ code, reason }) => {
      if (!this.current?.isOpen) this.owner.onFailed();
      // A browser does not report why a WebSocket failed to open.
      if (code === ABNORMAL && !this.current?.isOpen && globalThis.document !== undefined) this.unreachable(attempt);
      else this.onLost(attempt, code, String(reason));
    };
  }

  /** Waits until the packet tables are loaded. @param {Prepared['dialect']} dialect */
  async onSocketOpen(dialect) {
    this.current?.onOpen();
    if (dialect instanceof Dialect) return this.onDialect(dialect);
    const { attempt } = this;
    try {
      const loaded = await dialect;
      if (attempt === this.attempt) this.onDialect(loaded);
    } catch (error) {
      // An attempt that has ended cancels its requests.
      if (attempt !== this.attempt) return;
      console.warn('tickwire: no packet tables:', error);
      this.onLost(attempt, ABNORMAL, NO_TABLES);
    }
  }

  /** @param {Dialect} dialect */
  onDialect(dialect) {
    this.openDialect = dialect;
    this.listener.onOpen(dialect);
  }

  /**
   * Requests a lane for datagrams after `welcome`, if the page uses one and the server has lanes.
   */
  beginLane() {
    const dialect = this.openDialect;
    this.lane?.end();
    this.lane = null;
    if (!dialect || !this.wantsLane || !this.hasLanes) return;
    const { attempt, listener } = this;
    const open = this.wrapChannel(openChannel);
    this.lane = new Lane({
      openChannel: (onDatagram, onLost) => open(/** @type {Socket} */ (this.socket), onDatagram, onLost),
      request: (offer) => { if (attempt === this.attempt && this.isOpen) this.send(dialect.encode('lane_request', { offer })); },
      sendInStream: (packet) => { if (attempt === this.attempt && this.isOpen) this.send(packet); },
      onPacket: (packet, nowMs) => { if (attempt === this.attempt) listener.onDatagramPacket?.(packet, nowMs); },
    });
    this.lane.begin();
  }

  /** Whether this page and its server can have a lane. */
  get hasLanes() {
    return this.openDialect !== null && this.listener.onDatagramPacket !== undefined && hasLanes(this.openDialect);
  }

  /** Status of the lane; null if this page and its server cannot have one. */
  get laneStatus() {
    if (!this.hasLanes) return null;
    const none = { isUsable: false, isWaiting: false, why: '', tripMs: null, stats: null, missing: null };
    return { isOn: this.wantsLane, ...this.lane?.status() ?? none };
  }

  /** Turns the lane of the page on or off. @param {boolean} isOn */
  useLane(isOn) {
    this.wantsLane = isOn;
    if (this.welcomedAt !== null) this.beginLane();
  }

  /**
   * Handles a packet of the lane's negotiation. Returns false for other packets.
   * @param {string} name
   * @param {Record<string, any>} values
   */
  onLanePacket(name, values) {
    if (name === 'lane_offer') this.lane?.onOffer({ connection: values.connection, answer: values.answer });
    else if (name === 'error' && REJECTIONS.includes(values.rule)) this.lane?.onRejected(values.rule, values.detail ?? '');
    else return false;
    return true;
  }

  /**
   * Sends a packet by datagram, in the stream, or both.
   * @param {string} name
   * @param {Record<string, any>} values
   * @param {Uint8Array<ArrayBuffer>} bytes
   */
  sendPacket(name, values, bytes) {
    const row = this.openDialect?.serverPackets.get(name);
    if (row && this.lane) this.lane.send(row, values, bytes);
    else this.send(bytes);
  }

  /**
   * Marks the attempt as successful after `welcome`.
   * @param {number} now
   * @param {string} [epoch]
   * @param {() => void} [onRoomKnown] called when the name of the room is known, or cannot be found
   */
  async onWelcome(now, epoch, onRoomKnown = () => {}) {
    this.current?.end();
    this.welcomedAt = now;
    this.wasWelcome = true;
    const { attempt } = this;
    if (this.room.name !== null) return onRoomKnown();
    const isCurrent = () => attempt === this.attempt;
    const name = await this.room.find(epoch, isCurrent);
    if (name !== null) this.listener.onRoom?.(name);
    return isCurrent() ? onRoomKnown() : undefined;
  }

  /** Whether messages can be sent. */
  get isOpen() {
    return this.socket?.readyState === OPEN;
  }

  /** Sends a message, unless the WebSocket is closing. @param {Uint8Array<ArrayBuffer>} bytes */
  send(bytes) {
    if (this.isOpen) this.socket?.send(bytes);
  }

  /**
   * Drops a dead or useless connection and reconnects.
   * @param {string} [text] reason for the player
   */
  abandon(text) {
    this.onLost(this.attempt, ABNORMAL, text === undefined ? NO_ANSWER : '', text);
  }

  /** Leaves the game and does not reconnect. */
  close() {
    this.onLost(this.attempt, NORMAL, LEFT_PAGE);
    this.key.giveBack();
    this.stopReturns();
  }

  /**
   * Ends a connection or an attempt, and schedules the next attempt.
   * @param {number} attempt
   * @param {number} code
   * @param {string} reason
   * @param {string} [text]
   */
  onLost(attempt, code, reason, text = describeClose(code, reason)) {
    if (attempt !== this.attempt) return;
    clearTimeout(this.timer);
    this.current?.end();
    this.attempt += 1;
    if (reason === TOKEN_WRONG && this.token === playerToken()) forgetToken();
    const { socket } = this;
    this.socket = null;
    this.lane?.end();
    this.lane = null;
    // Code 1000 means that the player leaves. After a close without a code, the server suspends the
    // seat.
    if (reason === LEFT_PAGE) socket?.close(NORMAL);
    else socket?.close();
    if (this.welcomedAt !== null && performance.now() - this.welcomedAt > STABLE_MS) this.retries = 0;
    this.welcomedAt = null;
    const retryMs = (this.options.isFinal ?? isFinal)(code, reason) ? null : backoffMs(this.retries, Math.random());
    this.retries += 1;
    this.isWaiting = retryMs !== null;
    if (retryMs !== null) this.timer = setTimeout(() => this.open(), retryMs);
    this.listener.onClose({ code, reason, text, retryMs });
  }
}

/**
 * Fetches the packet tables.
 * @param {string} place address of the tables, or of an endpoint in the same folder
 * @param {boolean} isRelative
 * @param {AbortSignal} [signal]
 * @returns {Promise<import('./codec.js').Codes>}
 * @throws {Error} if the server is unreachable
 * @throws {TablesUnavailable} if the server has no tables
 */
async function fetchTables(place, isRelative, signal) {
  const url = new URL(place, ROOT);
  url.protocol = url.protocol.replace('ws', 'http');
  const answer = await fetch(isRelative ? new URL('codes.json', url) : url, { cache: 'no-cache', signal });
  if (answer.ok) return answer.json().catch(() => { throw new TablesUnavailable(`${answer.url} has no packet tables`); });
  // Reads the body, because browsers report a request as failed if its body is not read.
  await answer.text();
  const text = `no packet tables at ${answer.url}: status ${answer.status}`;
  throw answer.status === 429 || answer.status >= 500 ? new Error(text) : new TablesUnavailable(text);
}
