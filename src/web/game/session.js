/**
 * The life of the local player on a connection: joining, death, reconnects, and the return to the
 * player after a reload of the page. The server keeps the seat during an outage or a reload.
 *
 * @module game/session
 */

import { TOKEN_MISSING, TOKEN_WRONG, describeClose } from '../lib/close-reasons.js';
import { GameConnection } from './net/connection.js';
import { ENDPOINT, dialectAndTable } from './net/protocol.js';
import { EDITION } from '../wasm/edition.js';

const STORAGE_KEY = 'tickwire.played';
/** Maximum time between unload and load for a resume, ms. */
const RESUME_WINDOW_MS = 30_000;
/** Rule with which the server reports that the player no longer exists. */
const PLAYER_LEFT = 'player_left';

/** @typedef {import('./net/connection.js').Player} Player */

/**
 * Player of a page: its number, and its newest received tick.
 * @typedef {{ id: number, tick: number }} Had
 */

/**
 * @typedef {object} Page
 * @property {(text: string) => void} toast shows a text for a moment
 * @property {(why: string) => void} reject shows why the page can only spectate
 * @property {() => Player} player returns the name and the skin of the title card
 * @property {() => void} onSpawned called after a spawn of the local player
 * @property {() => void} onState called after each change of the connection's state
 */

export class Session {
  connection = new GameConnection(ENDPOINT, (packet, nowMs) => this.receive(packet, nowMs), () => this.onConnectionChanged(),
    (bytes, kind, nowMs) => this.prediction.onMessage(bytes, kind, nowMs));
  /** Player of this page until its death. @type {Had | null} */
  previousPlayer = playerBeforeReload();
  /** Whether a life was requested and no update contains the local player yet. */
  isBeginning = false;
  /** Whether the world is resynchronized on the same connection. The player stays the same. */
  isResync = false;
  /** Tick of the last `welcome`. */
  welcomeTick = 0;
  handledLives = 0;
  /** Last shown reason for the fallback to a stream. */
  shownFallbackReason = '';

  /**
   * @param {import('./world/world.js').World} world
   * @param {import('../lib/prediction.js').Prediction} prediction
   * @param {import('../lib/lockstep.js').Lockstep | null} lockstep
   * @param {boolean} isPlayback whether the page plays a capture
   * @param {Page} page
   */
  constructor(world, prediction, lockstep, isPlayback, page) {
    this.world = world;
    this.prediction = prediction;
    this.lockstep = lockstep;
    this.isPlayback = isPlayback;
    this.page = page;
    const { connection } = this;
    connection.lockstep = lockstep;
    connection.onAgain = () => {
      this.isResync = true;
      prediction.forget();
    };
    connection.resumeTick = () => (this.previousPlayer && this.previousPlayer.id !== 0 ? this.previousPlayer.tick : null);
    savePlayerOnUnload(() => (connection.player === null ? null : this.previousPlayer ?? { id: 0, tick: 0 }));
  }

  /**
   * @param {{ name: string, values: Record<string, any>, isDatagram?: boolean }} packet
   * @param {number} nowMs
   */
  receive(packet, nowMs) {
    const { connection, world } = this;
    const { name, values } = packet;
    if (name === 'welcome') {
      if (!this.isPlayback) this.startPrediction();
      this.welcomeTick = values.tick;
    }
    if (name === 'error' && values.rule === PLAYER_LEFT) return this.explainNewPlayer();
    // The resumed body is already dead.
    if (name === 'died' && this.isBeginning) return this.playAgain();
    world.apply(packet, nowMs);
    if (name === 'update' && world.ownId !== null && world.players.has(world.ownId)) this.isBeginning = false;
    if (name === 'pong') world.clock.pingMs = connection.pingMs;
    if (name === 'spawned') {
      if (!this.isResync) this.page.onSpawned();
      this.previousPlayer = { id: values.player, tick: this.welcomeTick };
    }
    if (name === 'update') this.isResync = false;
    if (this.previousPlayer) this.previousPlayer.tick = Math.max(this.previousPlayer.tick, this.packetTick(packet, nowMs));
    // After death the client spectates, even after a reconnect.
    if (name === 'died') connection.player = this.previousPlayer = null;
    if (name === 'error' && values.rule === TOKEN_MISSING) this.onRejectedToken(TOKEN_MISSING);
  }

  /** Starts a life from the title card or the death card. @param {Player} player */
  beginLife(player) {
    this.isBeginning = true;
    this.connection.join(player);
  }

  /** Continues the life of a reloaded page. If the player has died, no respawn is requested. */
  resume() {
    this.isBeginning = false;
  }

  /** Joins again on the same connection, so that the player respawns. */
  playAgain() {
    this.isBeginning = false;
    this.connection.join(this.connection.player ?? this.page.player());
  }

  /** Explains why the page gets a new player instead of its earlier one. */
  explainNewPlayer() {
    if (this.previousPlayer) this.page.toast(newPlayerReason(this.previousPlayer, this.welcomeTick));
    this.previousPlayer = null;
  }

  /**
   * Returns the tick of an `update` or `notice`; 0 for other packets, which a resume ignores.
   * @param {{ name: string, values: Record<string, any> }} packet
   * @param {number} nowMs
   */
  packetTick({ name, values }, nowMs) {
    if (name === 'update') return values.tick;
    return name === 'notice' ? this.world.clock.tickReceivedAt(nowMs) : 0;
  }

  /** Shows the rejection. Without a valid token the page can only spectate. @param {string} rule */
  onRejectedToken(rule) {
    this.connection.player = null;
    this.page.reject(describeClose(0, rule));
  }

  onConnectionChanged() {
    const { connection, lockstep } = this;
    this.page.onState();
    if (connection.state === 'waiting' && [TOKEN_MISSING, TOKEN_WRONG].includes(connection.reason)) this.onRejectedToken(connection.reason);
    if (connection.state === 'connecting') this.prediction.forget();
    if (lockstep && lockstep.fallbackReason !== this.shownFallbackReason && connection.state === 'live') {
      this.shownFallbackReason = lockstep.fallbackReason;
      this.page.toast(this.shownFallbackReason);
    }
    if (connection.state !== 'live' || connection.lives === this.handledLives) return;
    this.handledLives = connection.lives;
    if (this.handledLives > 1) this.page.toast('Reconnected');
  }

  async startPrediction() {
    const why = await this.prediction.start(...dialectAndTable());
    if (why === '') return;
    console.warn(why);
    this.page.toast(why);
  }
}

/**
 * Saves the page's player when the page unloads.
 * @param {() => Had | null} player returns the player of this page; null if it has no player
 */
function savePlayerOnUnload(player) {
  addEventListener('pagehide', () => {
    try {
      const had = player();
      if (had) sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ path: location.pathname, at: Date.now(), had }));
      else sessionStorage.removeItem(STORAGE_KEY);
    } catch {
      // Without storage the page starts with the title card.
    }
  });
}

/**
 * Returns the player that this tab had before the reload; null if it had no player. A second call
 * returns null.
 * @returns {Had | null}
 */
function playerBeforeReload() {
  try {
    const { path, at, had } = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? '{}');
    sessionStorage.removeItem(STORAGE_KEY);
    // In the browser edition the server restarts with the page.
    return EDITION === 'server' && path === location.pathname && Date.now() - at < RESUME_WINDOW_MS ? had ?? null : null;
  } catch {
    return null;
  }
}

/**
 * Returns a sentence that explains why a reloaded page gets a new player.
 * @param {Had} before earlier player
 * @param {number} welcomeTick tick of the new `welcome`
 */
export function newPlayerReason(before, welcomeTick) {
  return welcomeTick < before.tick ? 'The server has started a new world: you start over.'
    : 'Your earlier player has left the world: you start over.';
}
