/**
 * Sends the player's commands: assigns sequence numbers and target ticks, and sends only changes.
 * `Input` holds the wanted state; this file decides what to send and when.
 *
 * @module game/net/commands
 */

import { CHAT_CHARS, CLAN_CHARS, cut, toAngle16 } from './protocol.js';

/** Minimum interval between two `aim` packets, ms: 20 per second. */
const AIM_MS = 50;
/** Minimum turn that is sent, in units of 1/65,536 of a full turn: half a degree. */
const AIM_STEP = 91;

export class Commands {
  /**
   * @param {import('./connection.js').GameConnection} connection
   * @param {import('../world/world.js').World} world
   * @param {import('../../lib/prediction.js').Prediction} [prediction]
   */
  constructor(connection, world, prediction) {
    this.connection = connection;
    this.world = world;
    this.prediction = prediction;
    this.sequence = 0;
    this.lastTick = 0;
    /** Last direction sent; undefined before the first. @type {number | null | undefined} */
    this.direction = undefined;
    /** @type {number | undefined} */
    this.heading = undefined;
    this.aimedAt = 0;
    /** Last attack state sent. */
    this.attacking = false;
  }

  /**
   * Resets the sent state: a spawned player stands still, looks to the right and does not attack.
   */
  spawned() {
    // The server counts `join` as a command.
    this.sequence += 1;
    this.direction = null;
    this.heading = undefined;
    this.attacking = false;
    this.lastTick = 0;
  }

  /** @param {number | null} radians walking direction; null to stand still */
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
   * Starts or stops attacking. The newest heading is sent first, so that the first hit goes in the
   * right direction.
   * @param {boolean} on
   * @param {number | null} radians
   * @param {boolean} [again] true for a further press during continuous attacks, which uses the
   *   item in the hand
   * @returns {boolean} true if a packet was sent
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

  /** Selects a weapon or an item. @param {{ id: number, isWeapon: boolean }} slot */
  select({ id, isWeapon }) {
    return this.world.ownId !== null && this.command('select', { id, is_weapon: isWeapon ? 1 : 0 });
  }

  /** Chooses an upgrade. @param {number} choice */
  upgrade(choice) {
    return this.world.ownId !== null && this.command('upgrade', { choice });
  }

  /** Creates a clan. @param {string} name */
  createClan(name) {
    return this.world.ownId !== null && this.command('clan_create', { name: cut(name, CLAN_CHARS) });
  }

  /** Leaves the clan. If the local player owns it, the server dissolves it. */
  leaveClan() {
    return this.world.ownId !== null && this.command('clan_leave', {});
  }

  /** Requests to join a clan. @param {string} name */
  requestClan(name) {
    return this.world.ownId !== null && this.command('clan_request', { name });
  }

  /** Accepts or declines a join request. @param {number} player @param {boolean} accept */
  answer(player, accept) {
    return this.world.ownId !== null && this.command('clan_answer', { player, accept: accept ? 1 : 0 });
  }

  /** Removes a member from the clan. @param {number} player */
  kick(player) {
    return this.world.ownId !== null && this.command('clan_kick', { player });
  }

  /** Sends a map ping to the clan. */
  ping() {
    return this.world.ownId !== null && this.command('map_ping', {});
  }

  /** @param {string} text */
  chat(text) {
    const line = cut(text, CHAT_CHARS);
    return line !== '' && this.world.ownId !== null && this.command('chat', { text: line });
  }

  /**
   * Sends a command. Target ticks never decrease.
   * @param {Parameters<typeof import('./protocol.js').encode>[0]} name
   * @param {Record<string, unknown>} values
   */
  command(name, values) {
    const now = performance.now();
    this.prediction?.advance(now);
    const next = this.prediction?.commandTick ?? this.world.clock.commandTick(now);
    if (next !== null) this.lastTick = Math.max(this.lastTick, next);
    // The inspector may have sent commands on this connection. The server has counted their
    // sequence numbers.
    this.sequence = Math.max(this.sequence, this.world.own?.sequence ?? 0) + 1;
    return this.connection.send(name, { sequence: this.sequence, tick: next === null ? null : this.lastTick, ...values });
  }
}
