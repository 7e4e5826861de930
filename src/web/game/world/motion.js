/**
 * Where everyone is shown in a frame: oneself ahead of the server, others between two updates or run on.
 *
 * @module game/world/motion
 */

import { BAR_MS, step } from '../../lib/interpolation.js';
import { extrapolate } from '../../lib/dead-reckoning.js';

/** Speed at which hands swing fully, px a ms. The rules let nobody walk faster than 0.328. */
const FULL_PACE = 0.3;
/** A swing that the server tells of so long after the lead was foreseen. */
const PREDICTED_MS = 1000;

/** @typedef {import('./world.js').World} World */

/** Moves all that have a body to where they are at this moment. @param {World} world @param {number} nowMs */
export function updatePositions(world, nowMs) {
  const { clock, prediction } = world;
  const { interpolation = true, deadReckoning = true } = prediction?.features ?? {};
  // Without interpolation each update is shown as it is, when it comes.
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

/** Whether what the server tells of one's own hand was shown already. @param {World} world @param {number} nowMs */
export function wasPredicted({ predicted, predictedSwingAt, prediction }, nowMs) {
  return predicted !== null && nowMs - predictedSwingAt < (prediction?.figures.leadMs ?? 0) + PREDICTED_MS;
}

/** Shows one's own hand, and what one has built, as it is predicted. @param {World} world @param {number} nowMs */
function applyPrediction(world, nowMs) {
  const { predicted, built } = world;
  const own = world.ownId === null ? undefined : world.players.get(world.ownId);
  const swings = world.prediction?.takeEvents() ?? [];
  built.predicted = [];
  if (!predicted || !own) return;
  // In the order in which src/games/moo/prediction.rs puts them.
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
