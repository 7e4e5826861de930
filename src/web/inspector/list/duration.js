/**
 * Format of durations.
 *
 * @module inspector/list/duration
 */

/** Formats a duration. Below 0.1 ms in microseconds. @param {number} ms */
export function milliseconds(ms) {
  if (ms > 0 && ms < 0.1) return `${Math.max(1, Math.round(ms * 1000))} µs`;
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}
