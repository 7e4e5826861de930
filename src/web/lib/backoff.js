/**
 * Delays before reconnect attempts.
 *
 * @module lib/backoff
 */

/**
 * Delay before each attempt of an outage, ms. The last delay repeats. After a server restart, at
 * most three attempts are needed.
 */
const BACKOFF_MS = [150, 400, 800, 1500, 3000, 6000, 10000];
/** Random variation of each delay, as a fraction. It spreads the clients of a restarted server. */
const JITTER = 0.3;

/**
 * Returns the delay before a reconnect attempt.
 * @param {number} attempt 0 for the first attempt of an outage
 * @param {number} random 0 to 1
 * @returns {number} ms
 */
export function backoffMs(attempt, random) {
  const base = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)];
  return Math.round(base * (1 - JITTER + 2 * JITTER * random));
}
