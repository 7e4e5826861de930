/**
 * What flies: arrows, bolts, darts, bullets. The server says where a shot begins and where it ended; in between it flies
 * straight by the speed of its kind. Pure: time is an argument in milliseconds.
 *
 * @module game/world/projectiles
 */

import { ageMs, hasStarted } from '../../lib/age.js';
import { UNIT, forEachGroup } from '../net/protocol.js';
import { projectileOf } from '../rules/rules.js';

/** Shots that are kept; beyond, the oldest one goes. */
const MAX_PROJECTILES = 256;
/** A shot that ends so near to the end of its range has hit nothing, px: more than one flies between two ticks. */
const RANGE_END_PX = 130;

/**
 * @typedef {object} Shot
 * @property {number} id
 * @property {number} kind of `PROJECTILES`
 * @property {number} by the player who shot, or the turret
 * @property {number} fromX where it began, px
 * @property {number} fromY
 * @property {number} heading radians
 * @property {number} pace px a ms
 * @property {number} bornMs when it begins to be seen
 * @property {number} reach how far it flies, px: its range until its end is heard of
 * @property {boolean} hit whether it ended at something
 * @property {boolean} ended whether its end was heard of
 * @property {number} x where it is, px
 * @property {number} y
 * @property {number} way that it has flown, px; below 0 before it is seen
 */

export class Projectiles {
  constructor() {
    /** @type {Map<number, Shot>} */
    this.flying = new Map();
  }

  /** A new connection is told of what flies then. */
  clear() {
    this.flying.clear();
  }

  /**
   * @param {any[]} flat @param {number} nowMs
   * @param {(by: number) => number} lateMs how late whoever shot is shown
   * @returns {Shot[]} those that are new
   */
  add(flat, nowMs, lateMs) {
    /** @type {Shot[]} */
    const added = [];
    forEachGroup('shots', flat, (id, kind, by, x, y, heading, range) => {
      const known = this.flying.has(id);
      const shot = { id, kind, by, fromX: x * UNIT.hpx, fromY: y * UNIT.hpx, heading: heading * UNIT.angle16, pace: projectileOf(kind).speed / 1000,
        bornMs: nowMs + lateMs(by), reach: range, hit: false, ended: false, x: x * UNIT.hpx, y: y * UNIT.hpx, way: -1 };
      this.flying.set(id, shot);
      if (!known) added.push(shot);
    });
    for (const id of this.flying.keys()) {
      if (this.flying.size <= MAX_PROJECTILES) break;
      this.flying.delete(id);
    }
    return added;
  }

  /** Ends that were heard of: each shot still flies as far as that. @param {any[]} flat */
  end(flat) {
    forEachGroup('ends', flat, (id, x, y) => {
      const shot = this.flying.get(id);
      if (!shot) return;
      const [dx, dy] = [x * UNIT.hpx - shot.fromX, y * UNIT.hpx - shot.fromY];
      // Along its way: an end beside it would let it jump.
      const reach = Math.max(0, dx * Math.cos(shot.heading) + dy * Math.sin(shot.heading));
      shot.hit = reach < shot.reach - RANGE_END_PX;
      shot.reach = Math.min(shot.reach, reach);
      shot.ended = true;
    });
  }

  /** Moves all to where they are. @param {number} nowMs @returns {Shot[]} those whose flight is over */
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
