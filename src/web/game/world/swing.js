/**
 * Animation of a swinging tool: a short wind-up, a fast stroke, the way back. The functions take
 * times and return angles.
 *
 * @module game/world/swing
 */

import { weaponOf } from '../rules/rules.js';

/** Fraction of a swing at which the wind-up ends. */
const WIND_UP = 0.24;
/** Fraction of a swing at which the hit lands. */
const IMPACT = 0.36;
/** Fraction of a swing at which the stroke ends. */
const STROKE = 0.46;
/**
 * Angle of the arm after the wind-up, radians. Positive is to the right; the tool is in the right
 * hand.
 */
const BACK = 0.55;
/** Angle of the arm after the stroke, radians. */
const ACROSS = -1.25;
/** Duration of the recoil of a shooting weapon, ms. */
const KICK_MS = 210;
/** Maximum duration of a drawn swing, ms. */
const LONGEST_MS = 420;
/**
 * Maximum time between a press and the swing that the server reports for it, as a fraction of a
 * swing. A later report is drawn as another swing.
 */
const MAX_ANSWER_DELAY = 0.8;

/** Returns the time from one swing to the next, ms. @param {number} weapon */
export const swingMs = (weapon) => weaponOf(weapon).ms;

/**
 * Returns the drawn duration of a swing, ms. After a slow swing the arm rests.
 * @param {number} weapon
 */
export const strokeMs = (weapon) => Math.min(LONGEST_MS, swingMs(weapon));

/** Returns the time from the start of a swing to its hit, ms. @param {number} weapon */
export const impactMs = (weapon) => strokeMs(weapon) * IMPACT;

/**
 * Returns the angle of the arm relative to its rest position.
 * @param {number} part fraction of the swing; at rest outside 0 to 1
 * @returns {number} radians
 */
export function swingAngle(part) {
  if (!(part > 0 && part < 1)) return 0;
  if (part < WIND_UP) return BACK * ease(part / WIND_UP);
  if (part < STROKE) return BACK + (ACROSS - BACK) * ease((part - WIND_UP) / (STROKE - WIND_UP));
  return ACROSS * (1 - ease((part - STROKE) / (1 - STROKE)));
}

/**
 * Returns the trail of a fast stroke.
 * @param {number} part fraction of the swing
 * @returns {{ from: number, to: number, alpha: number } | null} angles as in `swingAngle`; null if
 *   there is no trail
 */
export function streak(part) {
  if (!(part > WIND_UP && part < STROKE + 0.16)) return null;
  const fade = part < STROKE ? 1 : 1 - (part - STROKE) / 0.16;
  return { from: BACK, to: part < STROKE ? swingAngle(part) : ACROSS, alpha: fade };
}

/**
 * Returns the start of the drawn swing of the local player, ms. A press starts it at once; the
 * server's report does not restart it.
 * @param {number} reportedMs time of the newest swing that the server reported
 * @param {number} pressedMs time of the newest press with the arm at rest
 * @param {number} ms duration of a swing
 */
export function ownSwingStart(reportedMs, pressedMs, ms) {
  const after = reportedMs - pressedMs;
  return after >= 0 && after < ms * MAX_ANSWER_DELAY ? pressedMs : Math.max(reportedMs, pressedMs);
}

/**
 * Returns the remaining recoil of a shooting weapon.
 * @param {number} sinceMs time since the shot
 * @returns {number} 1 to 0
 */
export function recoilProgress(sinceMs) {
  return sinceMs >= 0 && sinceMs < KICK_MS ? (1 - sinceMs / KICK_MS) ** 2 : 0;
}

/** Smoothstep. @param {number} part 0 to 1 */
function ease(part) {
  return part * part * (3 - 2 * part);
}
