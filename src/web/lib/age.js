/**
 * How long ago something was. The time of a frame is when the browser began it, so a frame that starts late is older than the
 * packets that came meanwhile, and the difference would be negative: circles would have a negative radius. Pure.
 *
 * @module lib/age
 */

/**
 * Time since a moment, never below 0: what is yet to come has no age.
 * @param {number} nowMs @param {number} atMs Infinity for what does not come
 */
export const ageMs = (nowMs, atMs) => Math.max(0, nowMs - atMs);

/** Whether a moment has come. @param {number} nowMs @param {number} atMs */
export const hasStarted = (nowMs, atMs) => nowMs >= atMs;
