/**
 * The part of the map in view. It follows the own tank, or the tank of a player for a spectator, or
 * shows the whole map.
 *
 * @module tanks/camera
 */

import { SIDE } from './map.js';

/** Area of the map in view at scale 1, px². All windows show this area. */
const AREA = 1120 * 706;
/** Minimum scale at which a tank, 40 px wide, is 22 px on the screen. */
const MIN_SCALE = 0.56;
/** Time constant of a movement to another target, ms. */
const GLIDE_MS = 160;
/** A target that is farther away is shown at once, px. */
const MAX_GLIDE = 900;
/** Time for which the view stays at the tank of a followed player after its destruction, ms. */
const STAY_MS = 1500;

/** @typedef {Record<string, number>} Tank */
/** @typedef {{ player: number, score: number }} Score */

export class Camera {
  x = SIDE / 2;
  y = SIDE / 2;
  scale = 0;
  /** Scale after the zoom has ended. */
  wanted = 0;
  /** Player whose tank a spectator follows. @type {number | null} */
  followed = null;
  /** Whether a spectator sees the whole map. */
  isWhole = false;
  deadSince = 0;
  /** Player of the target in the last frame. @type {number | null} */
  target = null;

  /**
   * Returns the tank that a spectator follows: the chosen one, or the one of the best player.
   * @param {Tank[]} tanks
   * @param {Score[]} scores
   * @param {number} now ms
   */
  choose(tanks, scores, now) {
    const one = tanks.find(({ player }) => player === this.followed);
    if (one && one.health > 0) this.deadSince = now;
    if (one && (now - this.deadSince < STAY_MS || this.isChosen)) return one;
    const alive = tanks.filter(({ health }) => health > 0);
    const scoreOf = (/** @type {Tank} */ tank) => scores.find(({ player }) => player === tank.player)?.score ?? 0;
    const best = alive.sort((a, b) => scoreOf(b) - scoreOf(a) || a.player - b.player)[0] ?? null;
    [this.followed, this.isChosen, this.deadSince] = [best?.player ?? null, false, now];
    return best;
  }

  /** Whether the user has chosen the followed player. */
  isChosen = false;

  /** Follows a player; null shows the whole map. @param {number | null} player */
  follow(player) {
    this.isWhole = player === null;
    [this.followed, this.isChosen] = [player, player !== null];
  }

  /**
   * Moves to a target.
   * @param {Tank | null} tank null for the whole map
   * @param {{ wide: number, high: number }} size px
   * @param {number} elapsed ms
   * @param {boolean} isCovered whether a card covers the middle of the canvas
   * @returns {import('./shapes.js').View}
   */
  view(tank, { wide, high }, elapsed, isCovered) {
    this.wanted = tank ? Math.max(MIN_SCALE, Math.sqrt(wide * high / AREA)) : Math.min(wide, high) / SIDE;
    const [middleX, middleY] = tank ? this.inside(tank, wide, high) : [SIDE / 2, SIDE / 2];
    const [right, down] = tank && isCovered ? this.offset(tank, wide, high) : [0, 0];
    const [x, y] = [middleX - right / this.wanted, middleY - down / this.wanted];
    const hasChanged = this.target !== (tank?.player ?? null);
    this.target = tank?.player ?? null;
    const far = Math.hypot(x - this.x, y - this.y);
    // The offset to the own tank is 0 except after a change of the target.
    if (hasChanged) this.glide = far < MAX_GLIDE || !tank ? 1 : 0;
    if (far > MAX_GLIDE && tank) this.glide = 0;
    this.glide *= Math.exp(-elapsed / GLIDE_MS);
    if (this.glide < 0.004 || this.scale === 0) this.glide = 0;
    if (hasChanged) this.from = { x: this.x, y: this.y, scale: this.scale };
    this.x = x + (this.from.x - x) * this.glide;
    this.y = y + (this.from.y - y) * this.glide;
    this.scale = this.glide === 0 ? this.wanted : this.wanted * (this.from.scale / this.wanted) ** this.glide;
    const { scale } = this;
    return { scale, wide, high, x: (at) => (at - this.x) * scale + wide / 2, y: (at) => (at - this.y) * scale + high / 2 };
  }

  /**
   * Returns the offset of a tank from the middle, px: to the side with less of the outside.
   * @param {Tank} tank @param {number} wide px @param {number} high px
   */
  offset({ x, y }, wide, high) {
    if (wide > 900) return [x < SIDE / 2 ? -wide * 0.31 : wide * 0.31, 0];
    return high > 600 ? [0, y < SIDE / 2 ? -high * 0.4 : high * 0.4] : [0, 0];
  }

  /** Remaining part of a movement to another target, 1 to 0. */
  glide = 0;
  from = { x: 0, y: 0, scale: 1 };

  /**
   * Returns the middle of the view for a tank. Little of the outside is in view, and no tank is
   * below the scores, the small map or the bar.
   * @param {Tank} tank @param {number} wide px @param {number} high px
   */
  inside({ x, y }, wide, high) {
    const isTall = high >= 600;
    const clamp = (/** @type {number} */ at, /** @type {number} */ length, /** @type {number} */ before, /** @type {number} */ after) => {
      const half = length / 2 / this.wanted, [low, top] = [half - before / this.wanted, SIDE - half + after / this.wanted];
      return low > top ? SIDE / 2 : Math.min(top, Math.max(low, at));
    };
    const side = wide >= 700 ? 140 : 30;
    return [clamp(x, wide, side, side), clamp(y, high, isTall ? 110 : 30, isTall ? 110 : 70)];
  }
}
