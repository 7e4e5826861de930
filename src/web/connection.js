/**
 * The line to the server: opens it, watches it, opens it again. Bytes and packets come in, packets go out; what they
 * mean for the world is not its business. It never gives up, and says at each moment where it stands.
 *
 * @module connection
 */

import { TAKEN_OVER, TOKEN_MISSING, TOKEN_WRONG, textOf } from './endings.js';
import { History } from './history.js';
import { LOCKSTEP, NO_LOCKSTEP } from './lockstep.js';
import { MODE, SUBPROTOCOL, VERSION, decode, encode, loadCodes, predicted } from './protocol.js';
import { forgetToken, ownToken } from './own-token.js';
import { loadRules } from './rules.js';
import { openSocket } from './socket.js';
import { waitMs } from './waits.js';

/** A connection that has held this long counts as good: the next outage begins with quick tries again. */
const GOOD_MS = 5000;
/** Time that one try may take. */
const TRY_MS = 8000;
const PING_MS = 2000;
/** Silence after a ping that means the line is dead, though nobody closed it. */
const SILENCE_MS = 8000;

/**
 * @typedef {'connecting' | 'live' | 'waiting'} State
 * - connecting: a try is under way
 * - live: the server has said welcome
 * - waiting: the line broke; `retryAt` says when the next try is
 */

/** @typedef {{ name: string, skin: number }} Player */

export class Connection {
  /**
   * @param {string} path of the endpoint, below the page's own
   * @param {(packet: { name: string, values: Record<string, any> }, nowMs: number) => void} onPacket
   * @param {() => void} onState called after each change of `state`
   * @param {(bytes: Uint8Array, came: boolean, nowMs: number) => void} [onMessage] is shown every message that comes or goes
   */
  constructor(path, onPacket, onState, onMessage = () => {}) {
    this.path = path;
    this.onPacket = onPacket;
    this.onState = onState;
    this.onMessage = onMessage;
    /** Puts a simulated line before a socket. @type {(socket: any) => any} */
    this.around = (socket) => socket;
    /** Runs the world in this page; null for a page that follows as a stream. @type {import('./lockstep.js').Lockstep | null} */
    this.lockstep = null;
    /** Whether this connection has asked for lockstep. */
    this.isInLockstep = false;
    /** Called before the world begins again in this page, on the same connection. */
    this.onAgain = () => {};
    /** @type {State} */
    this.state = 'connecting';
    /** The last tick of which a page was told that comes back to its player; null if it has none. @type {() => number | null} */
    this.since = () => null;
    /** Who plays; null for a watcher. @type {Player | null} */
    this.player = null;
    /** Local time of the next try while waiting, ms; infinite if the page does not try again by itself. */
    this.retryAt = 0;
    /** Tries since the line broke. */
    this.attempt = 0;
    /** Connections that have reached `live`. */
    this.lives = 0;
    /** Why the line broke, in the server's words if it had any. */
    this.reason = '';
    /** Counted since the page was opened. */
    this.stats = { bytesIn: 0, bytesOut: 0, messagesIn: 0, messagesOut: 0, updatesIn: 0, undecodable: 0 };
    /** Round trip of the last ping, ms; null before the first. @type {number | null} */
    this.pingMs = null;
    this.history = new History();
    this.liveSince = 0;
    this.heardAt = 0;
    this.nonce = 0;
    /** @type {Map<number, number>} nonce and time of the pings that are not answered */
    this.pings = new Map();
    /** @type {import('./socket.js').Socket | null} */
    this.socket = null;
    this.timer = 0;
    setInterval(() => this.beat(), PING_MS);
    addEventListener('online', () => this.retryNow());
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.retryNow(); });
  }

  /** Opens the line. */
  open() {
    clearTimeout(this.timer);
    this.setState('connecting');
    const socket = this.around(openSocket(this.path, [SUBPROTOCOL]));
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.pings.clear();
    this.history.begin();
    this.timer = setTimeout(() => this.broken(socket, 'no answer'), TRY_MS);
    socket.onopen = () => this.begin(socket);
    socket.onmessage = (event) => { if (socket === this.socket) this.receive(event.data); };
    socket.onclose = (event) => this.broken(socket, event.reason || (event.code === 1001 ? 'server is stopping' : ''));
  }

  /** The server that answers may be another one than before, with other packet tables and rules. @param {import('./socket.js').Socket} socket */
  async begin(socket) {
    try {
      await Promise.all([loadCodes(), loadRules()]);
    } catch (error) {
      console.warn('the packet tables or the rules cannot be loaded:', error);
      this.broken(socket, 'no packet tables or rules');
    }
    if (socket === this.socket) await this.lockstep?.begin(...predicted());
    if (socket === this.socket) this.hello();
  }

  /** Says who we are: the first packet of each connection, and the way back into play after an outage. */
  hello() {
    this.isInLockstep = this.lockstep?.works ?? false;
    const mode = (this.player ? MODE.play : MODE.watch) | (this.isInLockstep ? LOCKSTEP : 0);
    this.send('hello', { version: VERSION, mode, name: this.player?.name, skin: this.player?.skin, token: ownToken(), since: this.since() });
  }

  /** Begins to play, now and after each reconnection. @param {Player} player */
  enter(player) {
    this.player = player;
    if (this.state === 'live') this.send('enter', player);
    else this.retryNow();
  }

  /**
   * Sends a packet; without an open line it is dropped, since what was meant then means nothing later. So is one that the server's packet tables do not
   * have.
   * @param {Parameters<typeof encode>[0]} name @param {Record<string, unknown>} values
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
    this.heardAt = now;
    this.stats.bytesIn += data.byteLength;
    this.stats.messagesIn += 1;
    const { lockstep, socket } = this;
    if (!lockstep || !socket || !this.isInLockstep) return this.hear(new Uint8Array(data), now);
    const { told, say } = lockstep.hear(new Uint8Array(data), now);
    for (const bytes of say) this.write(bytes);
    for (const bytes of told) if (socket === this.socket) this.hear(bytes, now);
    if (!lockstep.works) this.broken(socket, lockstep.why);
  }

  /** A message of the server, or what it would have said. @param {Uint8Array} bytes @param {number} now */
  hear(bytes, now) {
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
    if (packet.name === 'welcome' && !isAgain) this.welcomed(now);
    else if (packet.name === 'pong') this.ponged(packet.values.nonce, now);
    else if (packet.name === 'update') this.updated(now);
    this.onPacket(packet, now);
  }

  /** @param {number} now */
  welcomed(now) {
    clearTimeout(this.timer);
    this.liveSince = now;
    this.lives += 1;
    this.reason = '';
    this.setState('live');
    this.ping();
  }

  ping() {
    this.nonce += 1;
    if (this.send('ping', { nonce: this.nonce })) this.pings.set(this.nonce, performance.now());
  }

  /** @param {number} nonce @param {number} now */
  ponged(nonce, now) {
    const sent = this.pings.get(nonce);
    if (sent === undefined) return;
    this.pings.delete(nonce);
    this.pingMs = now - sent;
    this.history.trip(this.pingMs, now);
  }

  /** @param {number} now */
  updated(now) {
    this.stats.updatesIn += 1;
    this.history.update(now);
  }

  /** Every two seconds: a ping, and a look at whether the last ones were answered. */
  beat() {
    if (this.state !== 'live' || !this.socket) return;
    const now = performance.now();
    const oldest = this.pings.values().next().value ?? now;
    if (now - oldest > SILENCE_MS && now - this.heardAt > SILENCE_MS) this.broken(this.socket, 'no answer');
    else this.ping();
  }

  /** @param {import('./socket.js').Socket} socket @param {string} reason */
  broken(socket, reason) {
    if (socket !== this.socket) return;
    clearTimeout(this.timer);
    this.socket = null;
    socket.close();
    const now = performance.now();
    if (this.state === 'live' && now - this.liveSince > GOOD_MS) this.attempt = 0;
    if (reason === TOKEN_WRONG) forgetToken();
    if (NO_LOCKSTEP.includes(reason)) this.lockstep?.fail(textOf(0, reason));
    // Two pages with one player must not take it from each other for ever, and a token does not become right.
    const isUnwanted = [TAKEN_OVER, TOKEN_MISSING, TOKEN_WRONG].includes(reason);
    // What does not go in lockstep goes on as a stream, at once.
    const isNowStream = this.isInLockstep && this.lockstep?.works === false;
    this.isInLockstep = false;
    const wait = isUnwanted ? Infinity : isNowStream ? 0 : waitMs(this.attempt, Math.random());
    this.attempt += 1;
    this.retryAt = now + wait;
    this.reason = reason || this.reason;
    this.pingMs = null;
    if (wait < Infinity) this.timer = setTimeout(() => this.open(), wait);
    this.setState('waiting');
  }

  /** Tries at once instead of after the wait. */
  retryNow() {
    if (this.state === 'waiting' && this.retryAt < Infinity) this.open();
  }

  /** @param {State} state */
  setState(state) {
    this.state = state;
    this.onState();
  }
}
