/**
 * What the player wants, as packets: numbered, meant for a tick, sent only when something has changed. Input says
 * what is wanted now; this file decides what to send and when.
 *
 * @module game/net/commands
 */

import { CHAT_CHARS, CLAN_CHARS, cut, toAngle16 } from './protocol.js';

/** Shortest time between two aims: 20 a second. */
const AIM_MS = 50;
/** A turn smaller than this is not sent: 65,536 / 720, half a degree. */
const AIM_STEP = 91;

export class Commands {
  /** @param {import('./connection.js').GameConnection} connection @param {import('../world/world.js').World} world @param {import('../../lib/prediction.js').Prediction} [prediction] */
  constructor(connection, world, prediction) {
    this.connection = connection;
    this.world = world;
    this.prediction = prediction;
    this.sequence = 0;
    this.lastTick = 0;
    /** Direction that the server was told last; undefined when it was told none. @type {number | null | undefined} */
    this.direction = undefined;
    /** @type {number | undefined} */
    this.heading = undefined;
    this.aimedAt = 0;
    /** Whether the server was told to swing. */
    this.attacking = false;
  }

  /** Forgets what the server was told: a new body stands still, looks to the right and swings nothing. */
  spawned() {
    // To play again is a command as well, and the server counted it.
    this.sequence += 1;
    this.direction = null;
    this.heading = undefined;
    this.attacking = false;
    this.lastTick = 0;
  }

  /** @param {number | null} radians null stands still */
  move(radians) {
    const direction = radians === null ? null : toAngle16(radians);
    if (this.world.ownId === null || direction === this.direction) return;
    if (this.command('move', { direction })) this.direction = direction;
  }

  /** @param {number} radians @param {number} nowMs */
  aim(radians, nowMs) {
    if (this.world.ownId === null || nowMs - this.aimedAt < AIM_MS) return;
    const heading = toAngle16(radians);
    const turn = this.heading === undefined ? AIM_STEP : Math.abs(((heading - this.heading + 0x18000) & 0xffff) - 0x8000);
    if (turn < AIM_STEP || !this.command('aim', { heading })) return;
    this.heading = heading;
    this.aimedAt = nowMs;
  }

  /**
   * Begins or ends to swing. Before a beginning comes the newest heading, so that the first blow goes where one looks.
   * @param {boolean} on @param {number | null} radians
   * @param {boolean} [again] true for a press while one swings already: it uses the item that was taken into the hand since
   * @returns {boolean} true when the server was told something new
   */
  attack(on, radians, again = false) {
    if (this.world.ownId === null || (on === this.attacking && !(on && again))) return false;
    if (on && radians !== null) {
      this.aimedAt = -Infinity;
      this.aim(radians, performance.now());
    }
    if (!this.command('attack', { state: on ? 1 : 0 })) return false;
    this.attacking = on;
    return true;
  }

  /** Takes something of one's own into the hand. @param {{ id: number, isWeapon: boolean }} slot */
  select({ id, isWeapon }) {
    return this.world.ownId !== null && this.command('select', { id, is_weapon: isWeapon ? 1 : 0 });
  }

  /** Takes what an age offers. @param {number} choice */
  upgrade(choice) {
    return this.world.ownId !== null && this.command('upgrade', { choice });
  }

  /** Founds a clan. @param {string} name */
  createClan(name) {
    return this.world.ownId !== null && this.command('clan_create', { name: cut(name, CLAN_CHARS) });
  }

  /** Leaves one's clan, or ends it if one owns it. */
  leaveClan() {
    return this.world.ownId !== null && this.command('clan_leave', {});
  }

  /** Asks to join a clan. @param {string} name */
  requestClan(name) {
    return this.world.ownId !== null && this.command('clan_request', { name });
  }

  /** Lets somebody into one's clan who asks, or not. @param {number} player @param {boolean} accept */
  answer(player, accept) {
    return this.world.ownId !== null && this.command('clan_answer', { player, accept: accept ? 1 : 0 });
  }

  /** Puts somebody out of one's clan. @param {number} player */
  kick(player) {
    return this.world.ownId !== null && this.command('clan_kick', { player });
  }

  /** Shows one's place to one's clan. */
  ping() {
    return this.world.ownId !== null && this.command('map_ping', {});
  }

  /** @param {string} text */
  chat(text) {
    const line = cut(text, CHAT_CHARS);
    return line !== '' && this.world.ownId !== null && this.command('chat', { text: line });
  }

  /**
   * Commands never overtake each other, so the tick that they are meant for never goes back.
   * @param {Parameters<typeof import('./protocol.js').encode>[0]} name @param {Record<string, unknown>} values
   */
  command(name, values) {
    const now = performance.now();
    this.prediction?.advance(now);
    const next = this.prediction?.commandTick ?? this.world.clock.commandTick(now);
    if (next !== null) this.lastTick = Math.max(this.lastTick, next);
    // The inspector may have sent a command for this page, whose number the server has counted.
    this.sequence = Math.max(this.sequence, this.world.own?.sequence ?? 0) + 1;
    return this.connection.send(name, { sequence: this.sequence, tick: next === null ? null : this.lastTick, ...values });
  }
}
