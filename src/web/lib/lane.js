/**
 * The lane for datagrams of a WebSocket. Datagrams repeat commands until they are acknowledged, and
 * carry the newest state. While the lane is not in use, the WebSocket carries everything.
 *
 * @module lib/lane
 */

import { CommandQueue } from './command-queue.js';
import { hasChannels } from '../wasm/open-socket.js';
import { KIND, LaneEndpoint, MESSAGES_BYTES, MESSAGE_HEAD_BYTES, readMessages, writeMessages } from './datagram.js';

/** Maximum time between two datagrams, which acknowledge the received ones, ms. */
const ACK_INTERVAL_MS = 200;
/** Minimum time between two datagrams that repeat commands, ms. */
const REPEAT_INTERVAL_MS = 33;
/** Time, in addition to a round trip, after which the stream carries a command as well, ms. */
const PATIENCE_MS = 150;
/** Time after which an opening lane is shown as failed, ms. */
const OPEN_TIMEOUT_MS = 2000;
/** Delays before a lost lane is requested again, ms. The last delay repeats. */
const RETRY_MS = [5000, 20000, 60000];

/** Rule of the rate limit, after which a lane is requested again. */
const RATE_LIMIT = 'address_lane_rate';
/** Rules with which the server rejects the request of a lane. */
export const REJECTIONS = ['no_lane', RATE_LIMIT];

/**
 * @typedef {object} LaneHost
 * @property {(onDatagram: (datagram: Uint8Array) => void, onLost: () => void) =>
 *   import('../wasm/open-socket.js').Channel} openChannel
 * @property {(offer: string) => void} request sends `lane_request`
 * @property {(packet: Uint8Array<ArrayBuffer>) => void} sendInStream
 * @property {(packet: Uint8Array, nowMs: number) => void} onPacket called with each packet of a
 *   datagram
 */

export class Lane {
  /** @type {import('../wasm/open-socket.js').Channel | null} */
  #channel = null;
  /** @type {LaneEndpoint | null} */
  #endpoint = null;
  #queue = new CommandQueue();
  /** Packets for the next datagram. @type {Uint8Array[]} */
  #pending = [];
  #sentAt = -Infinity;
  #begunAt = 0;
  #hasNews = false;
  #retries = 0;
  #hasEnded = false;
  /** @type {any} */
  #timer = 0;
  /** @type {any} */
  #retry = 0;

  /** @param {LaneHost} host */
  constructor(host) {
    this.host = host;
    /** Reason why there is no lane, or ''. */
    this.why = '';
  }

  /** Requests a lane. */
  async begin() {
    this.why = '';
    this.#begunAt = performance.now();
    let channel = null;
    try {
      channel = this.host.openChannel((datagram) => this.#receive(datagram), () => this.#onLost('the data channel was lost'));
      this.#channel = channel;
      const offer = await channel.offer();
      if (channel === this.#channel) this.host.request(offer);
    } catch (error) {
      if (channel === this.#channel) this.#stop(String(error));
    }
  }

  /**
   * Handles the packet `lane_offer`.
   * @param {{ connection: number, answer: string | null }} offer
   */
  async onOffer({ connection, answer }) {
    const channel = this.#channel;
    if (!channel) return;
    this.#endpoint = new LaneEndpoint(connection);
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#advance(performance.now()), REPEAT_INTERVAL_MS);
    try {
      await channel.accept(answer ?? '');
    } catch (error) {
      if (channel === this.#channel) this.#stop(String(error));
    }
  }

  /** Handles an `error` with one of `REJECTIONS`. @param {string} rule @param {string} detail */
  onRejected(rule, detail) {
    if (rule === RATE_LIMIT) this.#onLost(detail);
    else this.#stop(detail);
  }

  /** Ends the lane, for example with its WebSocket. */
  end() {
    this.#stop('');
    this.#hasEnded = true;
    clearTimeout(this.#retry);
  }

  /** @param {string} why */
  #stop(why) {
    this.why = why;
    clearInterval(this.#timer);
    this.#sendInStream(this.#queue.restart());
    this.#channel?.close();
    this.#channel = null;
    this.#endpoint = null;
  }

  /** Closes the lane, and requests another one after a delay. @param {string} why */
  #onLost(why) {
    this.#stop(why);
    if (this.#hasEnded) return;
    this.#retry = setTimeout(() => this.begin(), RETRY_MS[Math.min(this.#retries, RETRY_MS.length - 1)]);
    this.#retries += 1;
  }

  /** @param {Uint8Array<ArrayBuffer>[]} packets */
  #sendInStream(packets) {
    for (const packet of packets) this.host.sendInStream(packet);
  }

  /** Whether datagrams pass in both directions. @param {number} [now] */
  isUsable(now = performance.now()) {
    return this.#endpoint?.isUsable(now) ?? false;
  }

  /** Status and counts of the lane. */
  status(now = performance.now()) {
    const { tripMs = null, stats = null, missing = null } = this.#endpoint ?? {};
    const isUsable = this.isUsable(now);
    const isWaiting = this.#channel !== null && !isUsable;
    const hasFailed = isWaiting && now - this.#begunAt > OPEN_TIMEOUT_MS;
    return { isUsable, isWaiting: isWaiting && !hasFailed, why: this.why || (hasFailed ? 'no datagrams arrive' : ''), tripMs, stats, missing };
  }

  /**
   * Sends a command by datagram, in the stream, or both.
   * @param {number} sequence
   * @param {number | null} tick
   * @param {Uint8Array<ArrayBuffer>} packet
   * @param {number} [now]
   */
  command(sequence, tick, packet, now = performance.now()) {
    if (!this.#endpoint) return this.host.sendInStream(packet);
    this.#sendInStream(this.#queue.push(sequence, tick, packet, now));
    this.#hasNews = true;
    return this.#advance(now);
  }

  /**
   * Sends a packet by datagram, in the stream, or both. A ping is sent by both, because a pong of
   * the stream shows that the stream is alive.
   * @param {import('./codec.js').Packet} row
   * @param {Record<string, any>} values
   * @param {Uint8Array<ArrayBuffer>} packet
   */
  send(row, values, packet) {
    if (isCommand(row)) return this.command(values.sequence, values.tick ?? null, packet);
    // The next command is the first of a new player.
    if (row.name === 'join') this.#sendInStream(this.#queue.restart());
    if (row.name === 'ping' && this.isUsable()) {
      this.#pending.push(packet);
      this.#hasNews = true;
    }
    return this.host.sendInStream(packet);
  }

  /** @param {Uint8Array} datagram */
  #receive(datagram) {
    const now = performance.now();
    const messages = this.#endpoint?.open(datagram, now);
    for (const { kind, content } of messages ? readMessages(messages) : []) {
      if (kind === KIND.packet) this.host.onPacket(content, now);
      else if (kind === KIND.received && content.length === 4) this.#queue.acknowledge(new DataView(content.buffer, content.byteOffset).getUint32(0));
    }
  }

  /** Sends the datagram that is due. @param {number} now */
  #advance(now) {
    const endpoint = this.#endpoint;
    if (!endpoint) return;
    const patience = this.isUsable(now) ? (endpoint.tripMs ?? 0) + PATIENCE_MS : 0;
    this.#sendInStream(this.#queue.takeOverdue(now, patience));
    const since = now - this.#sentAt;
    const isRepetitionDue = this.#queue.commands.length > 0 && since >= REPEAT_INTERVAL_MS;
    if (!this.#hasNews && since < ACK_INTERVAL_MS && !isRepetitionDue) return;
    this.#hasNews = false;
    this.#sentAt = now;
    /** @type {import('./datagram.js').Message[]} */
    const messages = this.#pending.splice(0).map((content) => ({ kind: KIND.packet, content }));
    const used = writeMessages(messages).length;
    if (this.#queue.commands.length > 0) messages.push({ kind: KIND.commands, content: this.#queue.block(MESSAGES_BYTES - used - MESSAGE_HEAD_BYTES) });
    this.#channel?.send(endpoint.seal(writeMessages(messages), now));
  }
}

/**
 * Whether a page can have a lane to a server with these tables.
 * @param {import('./codec.js').Dialect} dialect
 */
export const hasLanes = (dialect) => hasChannels(dialect.codes.lanes ?? []) && dialect.serverPackets.has('lane_request');

/**
 * Describes the lane for the player.
 * @param {ReturnType<Lane['status']> & { isOn: boolean }} status
 */
export function describeLane({ isOn, isUsable, isWaiting, why, tripMs }) {
  if (!isOn) return 'Off: everything comes in the WebSocket.';
  if (isUsable) return `In use: commands and the newest state do not wait for lost packets.${tripMs === null ? '' : ` Round trip ${Math.round(tripMs)} ms.`}`;
  return isWaiting ? 'Opening. The WebSocket carries everything.' : `Not in use${why === '' ? '' : `, ${why}`}. The WebSocket carries everything.`;
}

/** Whether a packet is a command. @param {import('./codec.js').Packet} row */
const isCommand = ({ fields }) => fields[0]?.name === 'sequence' && fields[1]?.name === 'tick';

/**
 * Detects overtaken states. The states of a row are received by datagram and by stream, in any
 * order.
 */
export class NewestStates {
  /** Newest tick of each row, by name. @type {Map<string, number>} */
  #ticks = new Map();

  /** Names of the packets of the lane `latest`. @type {Set<string>} */
  #latest = new Set();

  /** Resets the state for a new connection. @param {import('./codec.js').Dialect | null} dialect */
  begin(dialect) {
    this.#ticks.clear();
    this.#latest = new Set([...dialect?.clientPackets.values() ?? []].filter(({ lane }) => lane === 'latest').map(({ name }) => name));
  }

  /**
   * Returns whether a packet of the lane `latest` is older than a received packet of its row.
   * Otherwise records its tick.
   * @param {{ name: string, values: Record<string, any> }} packet
   */
  isOvertaken({ name, values: { tick } }) {
    if (typeof tick !== 'number' || !this.#latest.has(name)) return false;
    if (tick < (this.#ticks.get(name) ?? 0)) return true;
    this.#ticks.set(name, tick);
    return false;
  }
}
