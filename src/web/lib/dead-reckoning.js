/**
 * Dead reckoning: extrapolates remote players while no update arrives. The movement code of the
 * game itself computes their positions. After the next update, the rendered position blends to the
 * received one.
 *
 * @module lib/dead-reckoning
 */

/** Longest extrapolation, ms. After it a player stands still. */
export const MAX_EXTRAPOLATION_MS = 500;
/** Time constant with which an extrapolation error decays, ms. */
export const BLEND_MS = 80;
/** A larger error is dropped at once instead of blended, px. */
export const SNAP_PX = 400;

/** @typedef {{ x: number, y: number }} Place */
/**
 * Extrapolates a position, as `Prediction.extrapolate` does.
 * @typedef {(from: Place, velocity: Place, ticks: number) => Place | null} ExtrapolatePosition
 */

/**
 * Returns the extrapolated position at a tick after the newest sample; null without velocity or
 * samples.
 * @param {import('./interpolation.js').PositionHistory} track
 * @param {number} tick render tick
 * @param {number} newestTick tick of the newest update; a player that the update does not contain
 *   stands still
 * @param {import('./interpolation.js').TickClock} clock
 * @param {ExtrapolatePosition} extrapolatePosition
 * @returns {Place | null}
 */
export function extrapolate(track, tick, newestTick, clock, extrapolatePosition) {
  const [before, last] = track.samples.slice(-2);
  if (!last || tick <= last.tick || last.tick < newestTick - clock.updateTicks || last.tick - before.tick > 3 * clock.updateTicks) return null;
  const span = last.tick - before.tick;
  const velocity = { x: (last.x - before.x) / span, y: (last.y - before.y) / span };
  if (velocity.x === 0 && velocity.y === 0) return null;
  const ticks = Math.min(tick - last.tick, MAX_EXTRAPOLATION_MS / clock.tickMs);
  const whole = Math.floor(ticks);
  const [from, to] = [extrapolatePosition(last, velocity, whole), extrapolatePosition(last, velocity, whole + 1)];
  if (!from || !to) return null;
  const part = ticks - whole;
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

/** Offset that remains of an extrapolation error. */
export class ErrorBlend {
  constructor() {
    this.x = 0;
    this.y = 0;
    /**
     * Tick of the sample from which the last frame extrapolated; null if it did not extrapolate.
     * @type {number | null}
     */
    this.base = null;
    /** Velocity of the rendered position in the last frame, px/ms. */
    this.pace = { x: 0, y: 0 };
  }

  /**
   * Adds the remaining error to a rendered position. A new sample after an extrapolation sets the
   * error.
   * @param {Place} shown actual position, becomes the rendered one
   * @param {Place} before position rendered in the last frame
   * @param {number | null} base tick of the extrapolated sample; null without extrapolation
   * @param {number} elapsedMs
   */
  apply(shown, before, base, elapsedMs) {
    if (this.base !== null && base !== this.base) {
      this.x = before.x + this.pace.x * elapsedMs - shown.x;
      this.y = before.y + this.pace.y * elapsedMs - shown.y;
      if (Math.hypot(this.x, this.y) > SNAP_PX) this.x = this.y = 0;
    }
    this.base = base;
    const left = Math.exp(-elapsedMs / BLEND_MS);
    this.x *= left;
    this.y *= left;
    shown.x += this.x;
    shown.y += this.y;
    const [far, away] = [shown.x - before.x, shown.y - before.y];
    // A teleport has no velocity.
    const perMs = Math.hypot(far, away) > SNAP_PX ? 0 : 1 / Math.max(1, elapsedMs);
    this.pace = { x: far * perMs, y: away * perMs };
  }
}
