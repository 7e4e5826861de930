/**
 * The animals in view: where each is shown, how well it is, when it struck last. Packets come in, state comes out. Pure:
 * time is an argument in milliseconds.
 *
 * @module game/world/animals
 */

import { BAR_MS, PositionHistory, step } from '../../lib/interpolation.js';
import { ageMs } from '../../lib/age.js';
import { UNIT, forEachGroup } from '../net/protocol.js';
import { ErrorBlend } from '../../lib/dead-reckoning.js';
import { speciesOf } from '../rules/rules.js';

/** Added to the number on the wire: players and things have low numbers too, and all of them flash by number. */
export const FIRST_ANIMAL = 0x4000_0000;
/** Time in which one that is gone fades. */
export const FADE_MS = 420;

/** Whoever dies this soon after a strike, and this near, died of it. */
const STRUCK_MS = 700;
const STRUCK_PX = 260;

/**
 * @typedef {object} Animal
 * @property {number} id from `FIRST_ANIMAL` on
 * @property {number} kind of `ANIMALS`
 * @property {PositionHistory} track
 * @property {import('../../lib/interpolation.js').Sample} shown where it was drawn in the last frame
 * @property {import('../../lib/dead-reckoning.js').ErrorBlend} glide what dead reckoning got wrong and is still shown
 * @property {number} walked px that it was seen to walk: drives its feet
 * @property {number} pace how fast it is seen to walk: 0 at rest, 1 at full speed
 * @property {number} way where it is seen to walk, radians
 * @property {number} health
 * @property {number} shownHealth the same as the bar shows it, which glides
 * @property {{ atMs: number, count: number }} strike the newest one heard of, and how many there were
 * @property {number} goneMs when it was heard to be gone; Infinity while it is there
 */

export class AnimalTracker {
  constructor() {
    /** @type {Map<number, Animal>} */
    this.all = new Map();
    /** Those that fade. @type {Animal[]} */
    this.fading = [];
  }

  /** A new connection is told everything anew. */
  clear() {
    this.all.clear();
    this.fading.length = 0;
  }

  /**
   * Animals that are new or have changed.
   * @param {any[]} flat @param {number} tick @param {import('../../lib/interpolation.js').TickClock} clock
   * @param {(animal: Animal, lost: number) => void} hurt called for each that has lost health
   */
  applyRecords(flat, tick, clock, hurt) {
    forEachGroup('animals', flat, (number, kind, x, y, heading, health) => {
      const id = FIRST_ANIMAL + number;
      const known = this.all.get(id);
      const animal = known?.kind === kind ? known : this.enter(id, kind, health);
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
    const animal = { id, kind, track: new PositionHistory(), shown: { tick: 0, x: 0, y: 0, heading: 0 }, glide: new ErrorBlend(), walked: 0, pace: 0, way: 0,
      health, shownHealth: health, strike: { atMs: -Infinity, count: 0 }, goneMs: Infinity };
    this.all.set(id, animal);
    return animal;
  }

  /** @param {number[]} numbers of the wire @returns {Animal[]} those of them that are known */
  findKnown(numbers) {
    return (numbers ?? []).map((number) => this.all.get(FIRST_ANIMAL + number)).filter((one) => one !== undefined);
  }

  /** @param {number[]} ids of the wire @param {number} nowMs @returns {Animal[]} those of them that were known */
  remove(ids, nowMs) {
    const known = this.findKnown(ids);
    for (const animal of known) {
      this.all.delete(animal.id);
      animal.goneMs = nowMs;
      this.fading.push(animal);
    }
    return known;
  }

  /** @param {number[]} ids of the wire @param {number} nowMs @returns {Animal[]} those that are known */
  strike(ids, nowMs) {
    const known = this.findKnown(ids);
    for (const { strike } of known) {
      strike.atMs = nowMs;
      strike.count += 1;
    }
    return known;
  }

  /**
   * Who has just struck beside a place: the wire does not say which animal somebody died of.
   * @param {number} x px @param {number} y px @param {number} nowMs
   * @returns {string} its name, empty for none
   */
  recentAttackerAt(x, y, nowMs) {
    const near = [...this.all.values()].filter(({ strike, shown }) => ageMs(nowMs, strike.atMs) < STRUCK_MS && Math.hypot(shown.x - x, shown.y - y) < STRUCK_PX);
    near.sort((a, b) => b.strike.atMs - a.strike.atMs);
    return near.length > 0 ? speciesOf(near[0].kind).name : '';
  }

  /**
   * Moves all to where they are shown.
   * @param {number} tick at which they are shown @param {number} elapsedMs @param {number} nowMs
   * @param {(track: PositionHistory) => { x: number, y: number } | null} [reckoned] where one is that there are no news of
   */
  advance(tick, elapsedMs, nowMs, reckoned = () => null) {
    for (const animal of this.all.values()) {
      step(animal, tick, elapsedMs, speciesOf(animal.kind).speed / 1000, reckoned(animal.track), true);
      animal.shownHealth += (animal.health - animal.shownHealth) * Math.min(1, elapsedMs / BAR_MS);
    }
    if (this.fading.length > 0) this.fading = this.fading.filter((animal) => ageMs(nowMs, animal.goneMs) < FADE_MS);
  }
}
