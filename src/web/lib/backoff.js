/**
 * How long a page waits before it connects again.
 *
 * @module lib/backoff
 */

/** Waits before the tries of one outage; the last one repeats. A restarted server is back within the first three. */
const BACKOFF_MS = [150, 400, 800, 1500, 3000, 6000, 10000];
/** Each wait is varied by this part, so that all clients of a restarted server do not come at once. */
const JITTER = 0.3;

/**
 * Wait before a try.
 * @param {number} attempt 0 for the first after an outage
 * @param {number} random 0 to 1
 * @returns {number} ms
 */
export function backoffMs(attempt, random) {
  const base = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)];
  return Math.round(base * (1 - JITTER + 2 * JITTER * random));
}
