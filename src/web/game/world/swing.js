/**
 * How a tool is swung: a short wind-up, a fast stroke across, the way back. Pure: times in, angles out.
 *
 * @module game/world/swing
 */

import { weaponOf } from '../rules/rules.js';

/** Parts of a swing at which the wind-up ends, the blow lands, the stroke ends. */
const WIND_UP = 0.24;
const IMPACT = 0.36;
const STROKE = 0.46;
/** How far the arm goes back and across, radians; the tool is in the right hand, and right is positive. */
const BACK = 0.55;
const ACROSS = -1.25;
/** Time in which what shoots comes back to rest, ms. */
const KICK_MS = 210;
/** No swing is seen to take longer, ms. */
const LONGEST_MS = 420;
/** The answer to a press comes at most this part of a swing after it; what comes later is a swing of its own. */
const MAX_ANSWER_DELAY = 0.8;

/** Time from one swing to the next, ms. @param {number} weapon */
export const swingMs = (weapon) => weaponOf(weapon).ms;

/** Time that a swing is seen to take, ms: after a heavy blow the arm rests. @param {number} weapon */
export const strokeMs = (weapon) => Math.min(LONGEST_MS, swingMs(weapon));

/** Time from the beginning of a swing to its blow, ms. @param {number} weapon */
export const impactMs = (weapon) => strokeMs(weapon) * IMPACT;

/**
 * How far the arm is turned from where it rests.
 * @param {number} part of the swing, 0 to 1; before and after it rests
 * @returns {number} radians
 */
export function swingAngle(part) {
  if (!(part > 0 && part < 1)) return 0;
  if (part < WIND_UP) return BACK * ease(part / WIND_UP);
  if (part < STROKE) return BACK + (ACROSS - BACK) * ease((part - WIND_UP) / (STROKE - WIND_UP));
  return ACROSS * (1 - ease((part - STROKE) / (1 - STROKE)));
}

/**
 * The streak behind a fast stroke.
 * @param {number} part of the swing
 * @returns {{ from: number, to: number, alpha: number } | null} angles as of `swingAngle`, null when there is none
 */
export function streak(part) {
  if (!(part > WIND_UP && part < STROKE + 0.16)) return null;
  const fade = part < STROKE ? 1 : 1 - (part - STROKE) / 0.16;
  return { from: BACK, to: part < STROKE ? swingAngle(part) : ACROSS, alpha: fade };
}

/**
 * When the swing began that is shown for oneself. A press shows at once; the server's answer to it does not begin the
 * swing anew.
 * @param {number} saidMs newest swing that the server told of
 * @param {number} pressedMs newest press that found the arm at rest
 * @param {number} ms time of one swing
 */
export function ownSwingStart(saidMs, pressedMs, ms) {
  const after = saidMs - pressedMs;
  return after >= 0 && after < ms * MAX_ANSWER_DELAY ? pressedMs : Math.max(saidMs, pressedMs);
}

/** How far what shoots is thrown back: at once, and home again. @param {number} sinceMs since the shot @returns {number} 1 to 0 */
export function recoilProgress(sinceMs) {
  return sinceMs >= 0 && sinceMs < KICK_MS ? (1 - sinceMs / KICK_MS) ** 2 : 0;
}

/** Slow at both ends. @param {number} part */
function ease(part) {
  return part * part * (3 - 2 * part);
}
