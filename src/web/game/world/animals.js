/**
 * Animals in view: rendered positions, health and attacks. Packets come in, state comes out. No
 * clock is read here: time is an argument in ms.
 *
 * @module game/world/animals
 */

import { BAR_MS, PositionHistory, step, ErrorBlend, ageMs } from '../../lib/interpolation.js';
import { UNIT, forEachGroup } from '../net/protocol.js';
import { speciesOf } from '../rules/rules.js';

/** Offset of animal ids, so that they differ from player and object ids. */
export const FIRST_ANIMAL = 0x4000_0000;
/** Fading time of a dead animal, ms. */
export const FADE_MS = 420;

/** Maximum time between an attack of an animal and the death that it caused, ms. */
const STRUCK_MS = 700;
/** Maximum distance between an animal and a player that it killed, px. */
const STRUCK_PX = 260;

/**
 * @typedef {object} Animal
 * @property {number} id at least `FIRST_ANIMAL`
 * @property {number} kind kind in the rules
 * @property {PositionHistory} track
 * @property {import('../../lib/interpolation.js').Sample} shown rendered state of the last frame
 * @property {import('../../lib/interpolation.js').ErrorBlend} errorBlend remaining extrapolation
 *   error
 * @property {number} walked walked distance, px; drives the feet
 * @property {number} pace rendered speed: 0 at rest, 1 at full speed
 * @property {number} way rendered walking direction, radians
 * @property {number} health
 * @property {number} shownHealth health that the bar shows; it approaches `health` smoothly
 * @property {{ atMs: number, count: number }} strike newest attack, and the number of attacks
 * @property {number} goneMs time of its removal; Infinity while it exists
 */

export class AnimalTracker {
  constructor() {
    /** @type {Map<number, Animal>} */
    this.all = new Map();
    /** Animals that fade out. @type {Animal[]} */
    this.fading = [];
  }

  /** Clears everything for a new connection. */
  clear() {
    this.all.clear();
    this.fading.length = 0;
  }

  /**
   * Applies the records of new and changed animals.
   * @param {any[]} flat
   * @param {number} tick
   * @param {import('../../lib/interpolation.js').TickClock} clock
   * @param {(animal: Animal, lost: number) => void} hurt called for each animal that has lost
   *   health
   */
  applyRecords(flat, tick, clock, hurt) {
    forEachGroup('animals', flat, (number, kind, x, y, heading, health) => {
      const id = FIRST_ANIMAL + number;
      const known = this.all.get(id);
      const animal = known && known.kind === kind ? known : this.enter(id, kind, health);
      const sample = { tick, x: x * UNIT.hpx, y: y * UNIT.hpx, heading: heading * UNIT.angle8 };
      animal.track.push(sample, clock);
      if (animal !== known) Object.assign(animal.shown, sample);
      const lost = animal.health - health;
      animal.health = health;
      if (lost > 0) hurt(animal, lost);
    });
  }

  /** @param {number} id @param {number} kind @param {number} health @returns {Animal} */
  enter(id, kind, health) {
    const animal = { id, kind, track: new PositionHistory(), shown: { tick: 0, x: 0, y: 0, heading: 0 }, errorBlend: new ErrorBlend(), walked: 0, pace: 0, way: 0,
      health, shownHealth: health, strike: { atMs: -Infinity, count: 0 }, goneMs: Infinity };
    this.all.set(id, animal);
    return animal;
  }

  /**
   * Finds known animals.
   * @param {number[]} numbers animal numbers in packets
   * @returns {Animal[]} the known ones
   */
  findKnown(numbers) {
    return (numbers ?? []).map((number) => this.all.get(FIRST_ANIMAL + number)).filter((one) => one !== undefined);
  }

  /**
   * Removes animals.
   * @param {number[]} ids animal numbers in packets
   * @param {number} nowMs
   * @returns {Animal[]} the removed ones
   */
  remove(ids, nowMs) {
    const known = this.findKnown(ids);
    for (const animal of known) {
      this.all.delete(animal.id);
      animal.goneMs = nowMs;
      this.fading.push(animal);
    }
    return known;
  }

  /**
   * Records attacks.
   * @param {number[]} ids animal numbers in packets
   * @param {number} nowMs
   * @returns {Animal[]} the attacking ones
   */
  strike(ids, nowMs) {
    const known = this.findKnown(ids);
    for (const { strike } of known) {
      strike.atMs = nowMs;
      strike.count += 1;
    }
    return known;
  }

  /**
   * Returns the name of the animal that attacked last near a position. The `died` packet does not
   * contain the animal.
   * @param {number} x px
   * @param {number} y px
   * @param {number} nowMs
   * @returns {string} '' if no animal has attacked recently
   */
  recentAttackerAt(x, y, nowMs) {
    const near = [...this.all.values()].filter(({ strike, shown }) => ageMs(nowMs, strike.atMs) < STRUCK_MS && Math.hypot(shown.x - x, shown.y - y) < STRUCK_PX);
    near.sort((a, b) => b.strike.atMs - a.strike.atMs);
    return near.length > 0 ? speciesOf(near[0].kind).name : '';
  }

  /**
   * Moves all animals to their rendered positions.
   * @param {number} tick render tick
   * @param {number} elapsedMs
   * @param {number} nowMs
   * @param {(track: PositionHistory) => { x: number, y: number } | null} [reckoned] returns the
   *   extrapolated position; null if there is none
   */
  advance(tick, elapsedMs, nowMs, reckoned = () => null) {
    for (const animal of this.all.values()) {
      step(animal, tick, elapsedMs, speciesOf(animal.kind).speed_px_per_s / 1000, reckoned(animal.track), true);
      animal.shownHealth += (animal.health - animal.shownHealth) * Math.min(1, elapsedMs / BAR_MS);
    }
    if (this.fading.length > 0) this.fading = this.fading.filter((animal) => ageMs(nowMs, animal.goneMs) < FADE_MS);
  }
}
