/**
 * Connection of the game's page: opens it, detects outages, and reconnects. It carries packets, and
 * reports its state. It stops reconnecting only if another page has taken over the player, or if
 * the token is missing or wrong.
 *
 * @module game/net/connection
 */

import { Attempt, reach, backoffMs } from '../../lib/attempt.js';
import { EDITION } from '../../wasm/edition.js';
import { NO_ANSWER, NO_LOCKSTEP, TAKEN_OVER, TOKEN_MISSING, TOKEN_WRONG, describeClose } from '../../lib/close-reasons.js';
import { Heartbeat, onReturn } from '../../lib/heartbeat.js';
import { NetHistory } from '../../lib/net-history.js';
import { MODE, SUBPROTOCOL, VERSION, decode, encode, loadTables, predictionSetup } from './protocol.js';
import { resumeKey } from '../../lib/resume.js';
import { forgetToken, playerToken, urlFromRoot } from '../../lib/address.js';
import { loadRules } from '../rules/rules.js';
import { offers, openSocket } from '../../wasm/open-socket.js';

/**
 * Duration after which a connection is stable, ms. After a stable connection, the retry delays
 * start short again.
 */
const STABLE_MS = 5000;
/** Path that a running server responds to. */
const HEALTH = 'healthz';

/**
 * @typedef {'connecting' | 'live' | 'waiting'} State - connecting: an attempt is running - live:
 *   after `welcome` - waiting: until the next attempt at `retryAt`
 */

/** @typedef {{ name: string, skin: number }} Player */
/** @typedef {import('../../wasm/open-socket.js').Socket} Socket */

const loadTablesAndRules = () => Promise.all([loadTables(), loadRules()]);

export class GameConnection {
  /**
   * @param {string} path endpoint, relative to the page
   * @param {(packet: { name: string, values: Record<string, any> }, nowMs: number) => void}
   *   onPacket
   * @param {() => void} onState called after each change of `state`
   * @param {(bytes: Uint8Array, isReceived: boolean, nowMs: number) => void} [onMessage] called for
   *   every received and sent message
   */
  constructor(path, onPacket, onState, onMessage = () => {}) {
    this.path = path;
    /** Returns the page's resume key. */
    this.key = resumeKey;
    /** Resume key of the last connection; '' before the first. */
    this.resumeKey = '';
    this.onPacket = onPacket;
    this.onState = onState;
    this.onMessage = onMessage;
    /**
     * Wraps a new socket, for example in a simulated network.
     * @type {(socket: Socket) => Socket}
     */
    this.wrapSocket = (socket) => socket;
    /**
     * World in this page; null without lockstep.
     * @type {import('../../lib/lockstep.js').Lockstep | null}
     */
    this.lockstep = null;
    /** Whether this connection requested lockstep. */
    this.isInLockstep = false;
    /** Called before the world is resynchronized on the same connection. */
    this.onAgain = () => {};
    /** @type {State} */
    this.state = 'connecting';
    /**
     * Returns the last tick that this page received for its player; null without a player.
     * @type {() => number | null}
     */
    this.resumeTick = () => null;
    /** Player that the connection joins with; null for a spectator. @type {Player | null} */
    this.player = null;
    /** Local time of the next attempt, ms; Infinity if there is none. */
    this.retryAt = 0;
    /** Number of attempts since the last stable connection. */
    this.attempt = 0;
    /** Number of connections that have reached `live`. */
    this.lives = 0;
    /** Close reason of the lost connection, or ''. */
    this.reason = '';
    /** Counters since the page was opened. */
    this.stats = { bytesIn: 0, bytesOut: 0, messagesIn: 0, messagesOut: 0, updatesIn: 0, undecodable: 0 };
    /** Round trip of the last ping, ms; null before the first. @type {number | null} */
    this.pingMs = null;
    this.history = new NetHistory();
    this.liveSince = 0;
    /**
     * Tables and rules of the first attempt, requested before its WebSocket is open.
     * @type {Promise<unknown> | null}
     */
    this.firstTables = null;
    this.heartbeat = new Heartbeat((nonce) => this.send('ping', { nonce }), () => this.lost());
    /** @type {Socket | null} */
    this.socket = null;
    /** @type {Attempt<string> | null} */
    this.current = null;
    this.timer = 0;
    onReturn(() => this.onReturn());
  }

  /** Starts an attempt. */
  open() {
    clearTimeout(this.timer);
    this.current?.end();
    // The first attempt is at the server that has just sent the page.
    this.firstTables = this.lives + this.attempt === 0 ? loadTablesAndRules() : null;
    // `begin` reports the error.
    this.firstTables?.catch(() => {});
    const current = new Attempt({
      prepare: async (signal) => {
        const [key] = await Promise.all([this.key(), this.lives + this.attempt > 0 ? this.reach(signal) : null]);
        return key;
      },
      connect: (key) => this.connect(key, current),
      reach: (signal) => this.reach(signal),
      failed: (error) => {
        if (error) console.warn('no connection:', error);
        this.onLost(this.socket, NO_ANSWER);
      },
    });
    this.current = current;
    this.setState('connecting');
    current.begin();
  }

  /** Rejects if the server does not respond to requests. @param {AbortSignal} signal */
  async reach(signal) {
    if (EDITION !== 'tab') await reach(urlFromRoot(location.href, HEALTH), signal);
  }

  /** Opens the WebSocket of an attempt. @param {string} key @param {Attempt<string>} current */
  connect(key, current) {
    this.resumeKey = key;
    const socket = this.wrapSocket(openSocket(this.path, offers(SUBPROTOCOL, key, playerToken())));
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.history.begin();
    socket.onopen = () => {
      if (socket !== this.socket) return;
      current.onOpen();
      this.begin(socket);
    };
    socket.onmessage = (event) => { if (socket === this.socket) this.receive(/** @type {ArrayBuffer} */ (event.data)); };
    socket.onclose = (event) => {
      if (socket === this.socket) this.onLost(socket, event.reason || (event.code === 1001 ? 'server is stopping' : ''));
    };
  }

  /** Whether the browser delays the WebSocket of the current attempt. */
  get isDelayed() {
    return this.current?.isDelayed ?? false;
  }

  /**
   * Loads packet tables and rules, because a restarted server may have other ones, and sends
   * `hello`.
   * @param {Socket} socket
   */
  async begin(socket) {
    try {
      const loading = this.firstTables ?? loadTablesAndRules();
      this.firstTables = null;
      await loading;
    } catch (error) {
      console.warn('the packet tables or the rules cannot be loaded:', error);
      this.onLost(socket, 'no packet tables or rules');
    }
    if (socket === this.socket) await this.lockstep?.begin(...predictionSetup());
    if (socket === this.socket) this.hello();
  }

  /** Sends `hello`, which also resumes the player after an outage. */
  hello() {
    this.isInLockstep = this.lockstep?.isActive ?? false;
    const mode = (this.player ? MODE.play : MODE.watch) | (this.isInLockstep ? MODE.lockstep : 0);
    this.send('hello', { version: VERSION, mode, name: this.player?.name, skin: this.player?.skin, resume_tick: this.resumeTick() });
  }

  /** Joins the game, now and after each reconnect. @param {Player} player */
  join(player) {
    this.player = player;
    if (this.state === 'live') this.send('join', player);
    else this.retryNow();
  }

  /**
   * Sends a packet. It is dropped without a connection, or if the tables lack it.
   * @param {Parameters<typeof encode>[0]} name
   * @param {Record<string, unknown>} values
   */
  send(name, values) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    const bytes = encode(name, values);
    if (!bytes) return false;
    this.write(bytes);
    this.onMessage(bytes, false, performance.now());
    return true;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  write(bytes) {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    this.socket.send(bytes);
    this.stats.bytesOut += bytes.length;
    this.stats.messagesOut += 1;
  }

  /** @param {ArrayBuffer} data */
  receive(data) {
    const now = performance.now();
    this.heartbeat.onMessage(now);
    this.stats.bytesIn += data.byteLength;
    this.stats.messagesIn += 1;
    const { lockstep, socket } = this;
    if (!lockstep || !socket || !this.isInLockstep) return this.receiveMessage(new Uint8Array(data), now);
    const { received, toSend } = lockstep.receive(new Uint8Array(data), now);
    for (const bytes of toSend) this.write(bytes);
    for (const bytes of received) if (socket === this.socket) this.receiveMessage(bytes, now);
    if (!lockstep.isActive) this.onLost(socket, lockstep.why);
  }

  /**
   * Receives a packet, from the server or from the world in this page.
   * @param {Uint8Array} bytes
   * @param {number} now
   */
  receiveMessage(bytes, now) {
    let packet;
    try {
      packet = decode(bytes);
    } catch (error) {
      this.stats.undecodable += 1;
      console.error('a packet that cannot be read:', error);
      return;
    }
    const isAgain = packet?.name === 'welcome' && this.state === 'live';
    if (isAgain) this.onAgain();
    this.onMessage(bytes, true, now);
    if (!packet) return;
    if (packet.name === 'welcome' && !isAgain) this.onWelcome(now);
    else if (packet.name === 'pong') this.onPong(packet.values.nonce, now);
    else if (packet.name === 'update') this.onUpdate(now);
    this.onPacket(packet, now);
  }

  /** @param {number} now */
  onWelcome(now) {
    this.current?.end();
    this.liveSince = now;
    this.lives += 1;
    this.reason = '';
    this.setState('live');
    this.heartbeat.begin(now);
  }

  /** @param {number} nonce @param {number} now */
  onPong(nonce, now) {
    const trip = this.heartbeat.onPong(nonce, now);
    if (trip === null) return;
    this.pingMs = trip;
    this.history.addRoundTrip(trip, now);
  }

  /** @param {number} now */
  onUpdate(now) {
    this.stats.updatesIn += 1;
    this.history.addUpdateGap(now);
  }

  /** Ends a connection on which the server no longer responds. */
  lost() {
    if (this.state === 'live') this.onLost(this.socket, NO_ANSWER);
  }

  /**
   * Ends a connection or an attempt, and schedules the next attempt.
   * @param {Socket | null} socket null if the attempt has none
   *   yet
   * @param {string} reason
   */
  onLost(socket, reason) {
    if (socket !== this.socket) return;
    clearTimeout(this.timer);
    this.current?.end();
    this.heartbeat.end();
    this.socket = null;
    socket?.close();
    const now = performance.now();
    if (this.state === 'live' && now - this.liveSince > STABLE_MS) this.attempt = 0;
    if (reason === TOKEN_WRONG) forgetToken();
    if (NO_LOCKSTEP.includes(reason)) this.lockstep?.fallBackToStream(describeClose(0, reason));
    // No reconnect: two pages would take the player from each other forever, and a wrong token
    // stays wrong.
    const isUnwanted = [TAKEN_OVER, TOKEN_MISSING, TOKEN_WRONG].includes(reason);
    // A failed lockstep connection continues as a stream at once.
    const isNowStream = this.isInLockstep && this.lockstep?.isActive === false;
    this.isInLockstep = false;
    const wait = isUnwanted ? Infinity : isNowStream ? 0 : backoffMs(this.attempt, Math.random());
    this.attempt += 1;
    this.retryAt = now + wait;
    this.reason = reason || this.reason;
    this.pingMs = null;
    if (wait < Infinity) this.timer = setTimeout(() => this.open(), wait);
    this.setState('waiting');
  }

  /**
   * Called when the page becomes visible or online. Probes a live connection; otherwise retries at
   * once.
   */
  onReturn() {
    if (this.state === 'live') this.heartbeat.probe(performance.now());
    else if (this.state === 'connecting' && this.current?.isStale) this.open();
    else this.retryNow();
  }

  /** Retries at once instead of after the delay. */
  retryNow() {
    if (this.state === 'waiting' && this.retryAt < Infinity) this.open();
  }

  /** @param {State} state */
  setState(state) {
    this.state = state;
    this.onState();
  }
}
