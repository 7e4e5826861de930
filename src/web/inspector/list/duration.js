/**
 * Format of durations.
 *
 * @module inspector/list/duration
 */

/** Formats a duration. @param {number} ms */
export function milliseconds(ms) {
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}
