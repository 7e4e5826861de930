/**
 * Rendered positions of a frame. The local player is predicted; others are interpolated or
 * extrapolated.
 *
 * @module game/world/motion
 */

import { BAR_MS, step } from '../../lib/interpolation.js';
import { extrapolate } from '../../lib/dead-reckoning.js';

/** Walking speed at which the hands move fully, px/ms. The maximum in the rules is 0.328. */
const FULL_PACE = 0.3;
/**
 * Time after a predicted swing within which a `swings` packet confirms it, ms. The lead is added.
 */
const PREDICTED_MS = 1000;

/** @typedef {import('./world.js').World} World */

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
