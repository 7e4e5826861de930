/**
 * State of a player in view, its rendered position in a frame, and its swings. The local player is
 * predicted; others are interpolated or extrapolated.
 *
 * @module game/world/player
 */

import { weaponOf } from '../rules/rules.js';
import { BAR_MS, step, extrapolate, PositionHistory, ErrorBlend } from '../../lib/interpolation.js';

/**
 * @typedef {object} Player
 * @property {number} id
 * @property {string} name
 * @property {number} skin 0 to 9
 * @property {number} qx newest position, half pixels; base of the next delta
 * @property {number} qy
 * @property {PositionHistory} track
 * @property {import('../../lib/interpolation.js').Sample} shown rendered state of the last frame
 * @property {ErrorBlend} errorBlend remaining extrapolation error
 * @property {number} walked walked distance, px; drives the hands
 * @property {number} pace rendered speed: 0 at rest, 1 at full speed
 * @property {number} way rendered walking direction, radians
 * @property {{ text: string, untilMs: number } | null} bubble
 * @property {number} health 0 to `player_health` of the rules
 * @property {number} shownHealth health that the bar shows; it approaches `health` smoothly
 * @property {boolean} isProtected whether spawn protection prevents damage
 * @property {number} weapon weapon in its hand, or its last one while it holds an item
 * @property {number | null} item item in its hand instead of the weapon
 * @property {number | null} receivedItem item of the last packet; `item` of the local player is
 *   predicted
 * @property {number} foodMs time at which it last held food
 * @property {number} shotMs time of its last shot
 * @property {{ atMs: number, hit: boolean, count: number }} swing newest swing, and the number of
 *   swings
 */

/**
 * @typedef {{ killer: number | null, name: string, beast: string, age: number, kills: number,
 *   score: number, x: number, y: number, atMs: number }} Death
 */

/**
 * An object of the scenery. Positions and radius are in px.
 * @typedef {{ id: number, kind: number, x: number, y: number, scale: number }} Thing
 */

/**
 * @typedef {{ sequence: number, marginTicks: number, x: number, y: number, vx: number, vy: number,
 *   heading: number, direction: number | null }} Own
 */

/**
 * @typedef {{ rows: { player: number, name: string, score: number }[], rank: number | null,
 *   players: number }} Board
 */

/**
 * A chat line. The player is null for the operator.
 * @typedef {{ player: number | null, name: string, text: string, atMs: number }} ChatLine
 */

/**
 * @typedef {{ killer: number | null, killerName: string, victim: number, victimName: string,
 *   atMs: number }} KillMessage
 */

/**
 * Creates a player that enters view. The first sample of its track sets its position.
 * @param {number} id
 * @param {string} name
 * @param {number} skin
 * @param {number} health
 * @param {{ weapon: number, item: number | null }} hand
 * @param {boolean} [isProtected] whether spawn protection prevents damage
 * @returns {Player}
 */
export function newPlayer(id, name, skin, health, hand, isProtected = false) {
  return { id, name, skin, qx: 0, qy: 0, track: new PositionHistory(), shown: { tick: 0, x: 0, y: 0, heading: 0 }, errorBlend: new ErrorBlend(), walked: 0, pace: 0, way: 0,
    bubble: null, health, shownHealth: health, isProtected, ...hand, receivedItem: hand.item, foodMs: -Infinity, shotMs: -Infinity,
    swing: { atMs: -Infinity, hit: false, count: 0 } };
}

/** Walking speed at which the hands move fully, px/ms. The maximum in the rules is 0.328. */
const FULL_PACE = 0.3;
/**
 * Time after a predicted swing within which a `swings` packet confirms it, ms. The lead is added.
 */
const PREDICTED_MS = 1000;

/** @typedef {import('./world.js').World} World */

/**
 * Sets the spawn protection of a player, which may enter with the next update.
 * @param {World} world @param {number} id @param {boolean} isProtected
 */
export function setProtection(world, id, isProtected) {
  world.earlyProtection.set(id, isProtected);
  const player = world.players.get(id);
  if (player) player.isProtected = isProtected;
}

/**
 * Moves all players and animals to their rendered positions.
 * @param {World} world
 * @param {number} nowMs
 */
export function updatePositions(world, nowMs) {
  const { clock, prediction } = world;
  const { interpolation = true, deadReckoning = true } = prediction?.features ?? {};
  // Without interpolation each update is rendered as it arrives.
  const others = interpolation ? clock.renderTick(nowMs) : world.tick;
  const own = interpolation ? clock.ownTick(nowMs) : world.tick;
  /** @param {import('../../lib/interpolation.js').PositionHistory} track */
  const reckoned = (track) => (interpolation && deadReckoning && prediction
    ? extrapolate(track, others, world.tick, clock, (from, velocity, ticks) => prediction.extrapolate(from, velocity, ticks)) : null);
  const elapsed = Math.max(1, nowMs - world.advancedAt);
  world.advancedAt = nowMs;
  for (const player of world.players.values()) {
    if (player.id === world.ownId) step(player, own, elapsed, FULL_PACE, world.predicted);
    else step(player, others, elapsed, FULL_PACE, reckoned(player.track), true);
    player.shownHealth += (player.health - player.shownHealth) * Math.min(1, elapsed / BAR_MS);
    if (player.bubble && player.bubble.untilMs < nowMs) player.bubble = null;
  }
  applyPrediction(world, nowMs);
  world.animalTracker.advance(others, elapsed, nowMs, reckoned);
}

/**
 * Whether prediction has already shown the swing of the local player that the server reports now.
 * @param {World} world
 * @param {number} nowMs
 */
export function wasPredicted({ predicted, predictedSwingAt, prediction }, nowMs) {
  return predicted !== null && nowMs - predictedSwingAt < (prediction?.figures.leadMs ?? 0) + PREDICTED_MS;
}

/**
 * Applies the predicted hand, swings and structures of the local player.
 * @param {World} world
 * @param {number} nowMs
 */
function applyPrediction(world, nowMs) {
  const { predicted, built } = world;
  const own = world.ownId === null ? undefined : world.players.get(world.ownId);
  const swings = world.prediction?.takeEvents() ?? [];
  built.predicted = [];
  if (!predicted || !own) return;
  // The order of the numbers is set in src/games/moo/prediction.rs.
  const [, weapon, item, ...structures] = predicted.numbers;
  built.setPredicted(structures);
  own.weapon = weapon;
  own.item = item < 0 ? null : item;
  for (const [, hits] of swings) {
    world.predictedSwingAt = nowMs;
    own.swing.atMs = nowMs;
    own.swing.hit = hits !== 0;
    world.pushEvent('swung', nowMs, own.shown, { id: own.id });
  }
}

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
export const swingMs = (weapon) => weaponOf(weapon).interval_ms;

/**
 * Returns the drawn duration of a swing, ms. If the interval between swings is longer, the arm
 * rests until the next swing.
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
