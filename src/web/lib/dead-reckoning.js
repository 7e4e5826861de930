/**
 * Dead reckoning: where others are while there is no news of them. They are run on by the world's own controllers as soon as
 * there is nothing to interpolate, and when news arrives again, what is shown glides to it.
 *
 * @module lib/dead-reckoning
 */

/** Time for which they are run on, ms; then they stand. */
export const MAX_EXTRAPOLATION_MS = 500;
/** Time in which most of an error is made up when news arrives again, ms. */
export const BLEND_MS = 80;
/** An error that is not glided over, px. */
export const SNAP_PX = 400;

/** @typedef {{ x: number, y: number }} Place */
/** What runs somebody on: `Prediction.extrapolate`. @typedef {(from: Place, velocity: Place, ticks: number) => Place | null} ExtrapolatePosition */

/**
 * Where somebody is at a tick behind its newest sample; null if nothing is known, or it stands.
 * @param {import('./interpolation.js').PositionHistory} track @param {number} tick at which it is shown
 * @param {number} newestTick newest tick heard of: whoever it did not name stands
 * @param {import('./interpolation.js').TickClock} clock @param {ExtrapolatePosition} extrapolatePosition
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

/** How far somebody is still shown from where it is: what dead reckoning got wrong. */
export class ErrorBlend {
  constructor() {
    this.x = 0;
    this.y = 0;
    /** The tick of the sample from which it was run on in the last frame; null if it was not. @type {number | null} */
    this.base = null;
    /** How it was shown to move in the last frame, px a ms. */
    this.pace = { x: 0, y: 0 };
  }

  /**
   * Moves a shown place. Where there is news after it was run on, it is shown on its way from where it was going to where it is.
   * @param {Place} shown where it is, and is then shown @param {Place} before where it was shown
   * @param {number | null} base tick of the sample from which it is run on; null if it is not @param {number} elapsedMs
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
    // Who has jumped is not on the way anywhere.
    const perMs = Math.hypot(far, away) > SNAP_PX ? 0 : 1 / Math.max(1, elapsedMs);
    this.pace = { x: far * perMs, y: away * perMs };
  }
}
