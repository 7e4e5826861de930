/**
 * Age of an event. A frame's timestamp may be older than packets that arrived before its callback
 * ran, so a plain difference could be negative, and circles would get a negative radius. No clock
 * is read here.
 *
 * @module lib/age
 */

/**
 * Returns the time since `atMs` in ms, at least 0.
 * @param {number} nowMs
 * @param {number} atMs Infinity if it never happens
 */
export const ageMs = (nowMs, atMs) => Math.max(0, nowMs - atMs);

/** Whether `atMs` has been reached. @param {number} nowMs @param {number} atMs */
export const hasStarted = (nowMs, atMs) => nowMs >= atMs;
