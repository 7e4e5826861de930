/**
 * Connection of the game's page: sends and receives packets, and reports its state. The base class
 * in `lib/connection.js`, which `tickwire.js` also uses, makes the attempts and handles outages.
 * The page stops reconnecting only if another page has taken over the player, or if the token is
 * missing or wrong.
 *
 * @module game/net/connection
 */

import { NO_LOCKSTEP, TAKEN_OVER, TOKEN_MISSING, TOKEN_WRONG } from '../../lib/close-reasons.js';
import { MODE, ReconnectingConnection, VERSION } from '../../lib/connection.js';
import { Heartbeat } from '../../lib/heartbeat.js';
import { NewestStates } from '../../lib/lane.js';
import { NetHistory } from '../../lib/net-history.js';
import { DIALECT, GAME, decode, dialectAndTable, encode, loadTables } from './protocol.js';
import { loadRules } from '../rules/rules.js';

/** Close code of a server that stops. */
const GOING_AWAY = 1001;

/**
 * @typedef {'connecting' | 'live' | 'waiting'} State `connecting`: an attempt is running; `live`:
 *   after `welcome`; `waiting`: until the next attempt at `retryAt`
 */

/** @typedef {{ name: string, skin: number }} Player */

/**
 * Loads the packet tables and the rules. A restarted server may have other tables and rules.
 * Requests that hang must end with their attempt, because a browser has few connections per server.
 * @param {AbortSignal} signal
 */
const loadDialect = (signal) => Promise.all([loadTables(signal), loadRules(signal)]).then(([dialect]) => dialect);

export class GameConnection {
  /**
   * @param {string} path endpoint, relative to the page
   * @param {(packet: { name: string, values: Record<string, any>, isDatagram?: boolean }, nowMs:
   *   number) => void} onPacket
   * @param {() => void} onState called after each change of `state`
   * @param {(bytes: Uint8Array, kind: import('../../lib/prediction.js').Kind, nowMs: number) =>
   *   void} [onMessage] called for every received and sent packet
   */
  constructor(path, onPacket, onState, onMessage = () => {}) {
    this.onPacket = onPacket;
    this.onState = onState;
    this.onMessage = onMessage;
    /**
     * World in this page; null without lockstep.
     * @type {import('../../lib/lockstep.js').Lockstep | null}
     */
    this.lockstep = null;
    /** Whether this connection requested lockstep. */
    this.isInLockstep = false;
    /** Called with the name of a room that the server has chosen. @type {(name: string) => void} */
    this.onRoom = () => {};
    /** Detects overtaken states. */
    this.newest = new NewestStates();
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
    /** Number of connections that have reached `live`. */
    this.lives = 0;
    /** Close reason of the lost connection, or ''. */
    this.reason = '';
    /** Counters since the page was opened. */
    this.stats = { bytesIn: 0, bytesOut: 0, messagesIn: 0, messagesOut: 0, updatesIn: 0, undecodable: 0 };
    /** Round trip of the last ping, ms; null before the first. @type {number | null} */
    this.pingMs = null;
    this.history = new NetHistory();
    this.heartbeat = new Heartbeat((nonce) => this.send('ping', { nonce }), () => this.transport.abandon());
    this.transport = new ReconnectingConnection({
      path,
      dialect: DIALECT,
      loadDialect,
      // Two pages would take the player from each other forever, and a wrong token stays wrong.
      isFinal: (_code, reason) => [TAKEN_OVER, TOKEN_MISSING, TOKEN_WRONG].includes(reason),
    }, {
      onAttempt: () => this.setState('connecting'),
      onRoom: (name) => this.onRoom(name),
      onOpen: () => this.begin(),
      onMessage: (bytes) => this.receive(bytes),
      onDatagramPacket: (bytes, nowMs) => this.receiveDatagram(bytes, nowMs),
      onClose: (closed) => this.onClose(closed),
      onPageReturn: () => this.heartbeat.probe(performance.now()),
    });
  }

  /** Connects. */
  open() {
    this.transport.open();
  }

  /** Resume key of the last connection; '' before the first. */
  get resumeKey() {
    return this.transport.resumeKey;
  }

  /** Number of attempts since the last stable connection. */
  get attempt() {
    return this.transport.retries;
  }

  /** Whether the browser delays the WebSocket of the current attempt. */
  get isDelayed() {
    return this.transport.current?.isDelayed ?? false;
  }

  /** Sends `hello`, which also resumes the player after an outage. */
  async begin() {
    const { attempt } = this.transport;
    await this.lockstep?.begin(GAME, ...dialectAndTable());
    // The connection has ended meanwhile.
    if (attempt !== this.transport.attempt) return;
    this.history.begin();
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
   * Sends a packet. Drops the packet if there is no connection or the tables lack it.
   * @param {Parameters<typeof encode>[0]} name
   * @param {Record<string, unknown>} values
   */
  send(name, values) {
    if (!this.transport.isOpen) return false;
    const bytes = encode(name, values);
    if (!bytes) return false;
    this.transport.sendPacket(name, values, bytes);
    this.count(bytes);
    this.onMessage(bytes, 'sent', performance.now());
    return true;
  }

  /** Counts a sent packet. @param {Uint8Array} bytes */
  count(bytes) {
    this.stats.bytesOut += bytes.length;
    this.stats.messagesOut += 1;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  write(bytes) {
    if (!this.transport.isOpen) return;
    this.transport.send(bytes);
    this.count(bytes);
  }

  /** Receives a packet by datagram. @param {Uint8Array} bytes @param {number} now */
  receiveDatagram(bytes, now) {
    this.stats.bytesIn += bytes.length;
    const packet = decode(bytes);
    if (!packet || this.newest.isOvertaken(packet)) return;
    this.onMessage(bytes, 'datagram', now);
    if (packet.name === 'pong') this.onPong(packet.values.nonce, now, true);
    else if (packet.name === 'update') this.onUpdate(now);
    this.onPacket({ ...packet, isDatagram: true }, now);
  }

  /** @param {Uint8Array} bytes */
  receive(bytes) {
    const now = performance.now();
    this.heartbeat.onMessage(now);
    this.stats.bytesIn += bytes.length;
    this.stats.messagesIn += 1;
    const { lockstep, transport } = this;
    if (!lockstep || !this.isInLockstep) return this.receiveMessage(bytes, now);
    const { attempt } = transport;
    const { received, toSend } = lockstep.receive(bytes, now);
    for (const message of toSend) this.write(message);
    for (const message of received) if (attempt === transport.attempt) this.receiveMessage(message, now);
    if (!lockstep.isActive && attempt === transport.attempt) transport.abandon(lockstep.fallbackReason);
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
    // An overtaken `update` still has enters and leaves. World and prediction skip its poses.
    if (packet && this.newest.isOvertaken(packet) && packet.name !== 'update') return;
    this.onMessage(bytes, 'received', now);
    if (!packet || this.transport.onLanePacket(packet.name, packet.values)) return;
    if (packet.name === 'welcome' && !isAgain) this.onWelcome(now, packet.values.epoch);
    else if (packet.name === 'pong') this.onPong(packet.values.nonce, now);
    else if (packet.name === 'update') this.onUpdate(now);
    this.onPacket(packet, now);
  }

  /** @param {number} now @param {string} epoch */
  onWelcome(now, epoch) {
    this.transport.onWelcome(now, epoch);
    this.newest.begin(this.transport.openDialect);
    if (!this.isInLockstep) this.transport.beginLane();
    this.lives += 1;
    this.reason = '';
    this.setState('live');
    this.heartbeat.begin(now);
  }

  /** @param {number} nonce @param {number} now @param {boolean} [isDatagram] */
  onPong(nonce, now, isDatagram = false) {
    const trip = this.heartbeat.onPong(nonce, now, isDatagram);
    if (trip === null) return;
    this.pingMs = trip;
    this.history.addRoundTrip(trip, now);
  }

  /** @param {number} now */
  onUpdate(now) {
    this.stats.updatesIn += 1;
    this.history.addUpdateGap(now);
  }

  /** @param {import('../../lib/connection.js').CloseInfo} closed */
  onClose({ code, reason, text, retryMs }) {
    this.heartbeat.end();
    if (NO_LOCKSTEP.includes(reason)) this.lockstep?.fallBackToStream(text);
    // A failed lockstep connection continues as a stream at once.
    const isNowStream = this.isInLockstep && this.lockstep?.isActive === false;
    this.isInLockstep = false;
    this.retryAt = performance.now() + (retryMs ?? Infinity);
    this.reason = reason || (code === GOING_AWAY ? 'server is stopping' : this.reason);
    this.pingMs = null;
    this.setState('waiting');
    if (isNowStream) this.retryNow();
  }

  /** Retries at once instead of after the delay. */
  retryNow() {
    if (this.transport.isWaiting) this.open();
  }

  /** @param {State} state */
  setState(state) {
    this.state = state;
    this.onState();
  }
}
