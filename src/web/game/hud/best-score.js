/**
 * Best score of the players in this browser, stored for the next visit.
 *
 * @module game/hud/best-score
 */

import { local } from '../../lib/stored.js';

const STORAGE_KEY = 'tickwire.best';

/** Best score so far; 0 before the first point. */
export function bestScore() {
  const stored = Number(local.getItem(STORAGE_KEY));
  return Number.isSafeInteger(stored) && stored > 0 ? stored : 0;
}

/** Stores a score that is higher than the best one. @param {number} score */
export function recordScore(score) {
  if (score > bestScore()) local.setItem(STORAGE_KEY, String(score));
}
