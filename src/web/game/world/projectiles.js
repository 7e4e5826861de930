/**
 * Projectiles: arrows, bolts, darts, bullets. Packets contain the start and the end of a shot; in
 * between, the page moves it straight with the speed of its kind. No clock is read here: time is an
 * argument in ms.
 *
 * @module game/world/projectiles
 */

import { ageMs, hasStarted } from '../../lib/interpolation.js';
import { UNIT, forEachGroup } from '../net/protocol.js';
import { projectileOf } from '../rules/rules.js';

/** Maximum number of projectiles. A further projectile removes the oldest. */
const MAX_PROJECTILES = 256;
/**
 * A shot that ends this close to its full range has hit nothing, px. No projectile flies this far
 * in a tick.
 */
const RANGE_END_PX = 130;

/**
 * @typedef {object} Shot
 * @property {number} id
 * @property {number} kind kind in the rules
 * @property {number} shooter player or turret that shot
 * @property {number} fromX start, px
 * @property {number} fromY
 * @property {number} heading radians
 * @property {number} pace speed, px/ms
 * @property {number} bornMs time at which it appears
 * @property {number} reach flight distance, px: its range, or the received end
 * @property {boolean} hit whether it hit something
 * @property {boolean} ended whether its end was received
 * @property {number} x position, px
 * @property {number} y
 * @property {number} way distance flown, px; below 0 before it appears
 */

export class Projectiles {
  constructor() {
    /** @type {Map<number, Shot>} */
    this.flying = new Map();
  }

  /** Clears everything for a new connection. */
  clear() {
    this.flying.clear();
  }

  /**
   * Adds projectiles.
   * @param {any[]} flat
   * @param {number} nowMs
   * @param {(shooter: number) => number} lateMs returns the render delay of the shooter, ms
   * @returns {Shot[]} the new projectiles
   */
  add(flat, nowMs, lateMs) {
    /** @type {Shot[]} */
    const added = [];
    forEachGroup('shots', flat, (id, kind, shooter, x, y, heading, range) => {
      const known = this.flying.has(id);
      const shot = { id, kind, shooter, fromX: x * UNIT.hpx, fromY: y * UNIT.hpx, heading: heading * UNIT.angle16, pace: projectileOf(kind).speed_px_per_s / 1000,
        bornMs: nowMs + lateMs(shooter), reach: range, hit: false, ended: false, x: x * UNIT.hpx, y: y * UNIT.hpx, way: -1 };
      this.flying.set(id, shot);
      if (!known) added.push(shot);
    });
    for (const id of this.flying.keys()) {
      if (this.flying.size <= MAX_PROJECTILES) break;
      this.flying.delete(id);
    }
    return added;
  }

  /** Applies received ends. Each projectile flies on to its end. @param {any[]} flat */
  end(flat) {
    forEachGroup('ends', flat, (id, x, y) => {
      const shot = this.flying.get(id);
      if (!shot) return;
      const [dx, dy] = [x * UNIT.hpx - shot.fromX, y * UNIT.hpx - shot.fromY];
      // Projects the end onto the path, so that the projectile does not jump sideways.
      const reach = Math.max(0, dx * Math.cos(shot.heading) + dy * Math.sin(shot.heading));
      shot.hit = reach < shot.reach - RANGE_END_PX;
      shot.reach = Math.min(shot.reach, reach);
      shot.ended = true;
    });
  }

  /**
   * Moves all projectiles.
   * @param {number} nowMs
   * @returns {Shot[]} the projectiles that have ended
   */
  advance(nowMs) {
    /** @type {Shot[]} */
    const over = [];
    for (const shot of this.flying.values()) {
      shot.way = hasStarted(nowMs, shot.bornMs) ? ageMs(nowMs, shot.bornMs) * shot.pace : -1;
      const along = Math.max(0, Math.min(shot.way, shot.reach));
      shot.x = shot.fromX + along * Math.cos(shot.heading);
      shot.y = shot.fromY + along * Math.sin(shot.heading);
      if (shot.way >= shot.reach) over.push(shot);
    }
    for (const { id } of over) this.flying.delete(id);
    return over;
  }
}
