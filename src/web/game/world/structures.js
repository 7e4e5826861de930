/**
 * Structures in view, and the inventory and upgrade offers of the local player. Packets come in,
 * state comes out.
 *
 * @module game/world/structures
 */

import { UNIT, forEachGroup } from '../net/protocol.js';

/**
 * @typedef {{ id: number, item: number, owner: number, x: number, y: number, heading: number,
 *   seenMs: number, aim: number, aimed: number, shotMs: number, endsTick: number | null }}
 *   Structure position in px, angles in radians; `aim`: direction of a turret's last shot; `aimed`:
 *   direction of the turret before that shot; `shotMs`: time of that shot; `endsTick`: tick at
 *   which the structure expires, or null
 */
/**
 * @typedef {{ weapons: number[], items: number[], counts: Map<number, number> }} Inventory
 *   `counts`: standing structures by group
 */
/** @typedef {{ points: number, age: number, choices: number[] }} Offers */

export class Structures {
  constructor() {
    /**
     * Predicted structures of the local player that the server has not confirmed yet.
     * @type {{ item: number, x: number, y: number, heading: number }[]}
     */
    this.predicted = [];
    /** Known structures by id. @type {Map<number, Structure>} */
    this.structures = new Map();
    /** @type {Inventory} */
    this.inventory = { weapons: [], items: [], counts: new Map() };
    /** @type {Offers} */
    this.offers = { points: 0, age: 0, choices: [] };
    this.clear();
  }

  /** Clears everything for a new connection. */
  clear() {
    this.structures.clear();
    this.inventory = { weapons: [], items: [], counts: new Map() };
    this.offers = { points: 0, age: 0, choices: [] };
    /** Version that rises with each change of the inventory. */
    this.kitVersion = (this.kitVersion ?? 0) + 1;
    /** Version that rises with each change of the offers. */
    this.offersVersion = (this.offersVersion ?? 0) + 1;
  }

  /** Sets the predicted structures. @param {number[]} flat */
  setPredicted(flat) {
    for (let at = 0; at + 4 <= flat.length; at += 4) {
      this.predicted.push({ item: flat[at], x: flat[at + 1], y: flat[at + 2], heading: flat[at + 3] * UNIT.angle16 });
    }
  }

  /** @param {any[]} flat @param {number} nowMs */
  add(flat, nowMs) {
    forEachGroup('structures', flat, (id, item, owner, x, y, heading) => {
      const way = heading * UNIT.angle8;
      // A confirmed predicted structure does not animate again.
      const seenMs = this.predicted.some((one) => one.item === item && one.x === x && one.y === y) ? -Infinity : nowMs;
      this.structures.set(id, { id, item, owner, x, y, heading: way, seenMs, aim: way, aimed: way, shotMs: -Infinity, endsTick: null });
    });
  }

  /** Removes structures. @param {number[]} ids @returns {Structure[]} the removed ones */
  remove(ids) {
    const known = (ids ?? []).map((id) => this.structures.get(id)).filter((one) => one !== undefined);
    for (const { id } of known) this.structures.delete(id);
    return known;
  }

  /** Sets the ticks at which structures expire. @param {any[]} flat */
  setEndTicks(flat) {
    forEachGroup('until', flat, (id, tick) => {
      const one = this.structures.get(id);
      if (one) one.endsTick = tick;
    });
  }

  /**
   * Turns a turret in the direction of its shot.
   * @param {number} id
   * @param {number} heading radians
   * @param {number} nowMs
   */
  aimTurret(id, heading, nowMs) {
    const turret = this.structures.get(id);
    if (turret) Object.assign(turret, { aimed: turret.aim, aim: heading, shotMs: nowMs });
  }

  /** Sets the inventory. @param {Record<string, any>} values values of `inventory` */
  setInventory({ weapons, items, counts }) {
    const standing = new Map();
    forEachGroup('counts', counts, (group, count) => standing.set(group, count));
    this.inventory = { weapons: weapons ?? [], items: items ?? [], counts: standing };
    this.kitVersion += 1;
  }

  /** Sets the upgrade offers. @param {Record<string, any>} values values of `upgrade_offers` */
  setOffers({ points, age, choices }) {
    this.offers = { points: points ?? 0, age: age ?? 0, choices: choices ?? [] };
    this.offersVersion += 1;
  }

  /**
   * Slots of the number keys in order: weapons, then items.
   * @returns {{ id: number, isWeapon: boolean }[]}
   */
  get slots() {
    const { weapons, items } = this.inventory;
    return [...weapons.map((id) => ({ id, isWeapon: true })), ...items.map((id) => ({ id, isWeapon: false }))];
  }
}
