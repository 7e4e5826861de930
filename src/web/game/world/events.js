/**
 * World events that effects and sounds show once. The list is bounded, because a hidden page draws
 * no frames that would consume it.
 *
 * @module game/world/events
 */

import { ageMs } from '../../lib/interpolation.js';

/** Resources by number. */
export const RESOURCES = Object.freeze(/** @type {const} */ (['wood', 'food', 'stone', 'gold']));

/** Maximum time between the last swing and the gold that it gathered, ms. Later gold is passive. */
const PASSIVE_GOLD_MS = 400;
/** Maximum number of pending events. Further ones drop the oldest. */
const MAX_EVENTS = 256;

/**
 * A world event that effects and sounds show once. Its position is the rendered one, px.
 *
 * - swung: `id` of the player
 * - struck: `id` of the object, `direction` of the hit
 * - hurt, healed: `id`, `amount`
 * - eaten: `id`
 * - placed, gone: `id` of the structure, `resource` is its item
 * - gained: `resource` and `amount` that the local player has gained
 * - scored: `amount` of points for a kill
 * - aged: `amount` is the new age of the local player
 * - spawned: the local player
 * - fell: `id` of the dead player, `amount` its skin
 * - chatted: `id`
 * - announced: a notice of the operator
 * - shot: `id` of the shooter, `direction`, `resource` is the kind of the projectile
 * - landed: as shot, `amount` 1 if it hit something
 * - lunged: `id` of the animal
 * - vanished: `id` of the animal, `amount` its health
 * - pinged: `id` of the player
 *
 * @typedef {{ kind: 'swung' | 'struck' | 'hurt' | 'healed' | 'eaten' | 'placed' | 'gone' | 'gained'
 *   | 'scored' | 'aged' | 'spawned' | 'fell' | 'chatted' | 'shot' | 'landed' | 'lunged' |
 *   'vanished' | 'pinged' | 'announced', atMs: number, x: number, y: number, id: number, amount:
 *   number, direction: number, resource: number }} WorldEvent
 */

/**
 * Appends an event and limits the list.
 * @param {WorldEvent[]} list
 * @param {WorldEvent['kind']} kind
 * @param {number} atMs
 * @param {{ x: number, y: number } | undefined} position
 * @param {Partial<WorldEvent>} more
 */
export function pushEvent(list, kind, atMs, position, more) {
  const { x, y } = position ?? { x: NaN, y: NaN };
  if (list.length >= MAX_EVENTS) list.shift();
  list.push({ kind, atMs, x, y, id: 0, amount: 0, direction: 0, resource: 0, ...more });
}

/**
 * Appends the events of gathered resources, of points for a kill, and of a new age.
 * @param {import('./world.js').World} world with the new statistics
 * @param {import('./world.js').Stats} before earlier statistics
 * @param {import('./player.js').Player} own
 * @param {number} nowMs
 */
export function pushGains(world, before, own, nowMs) {
  const { stats } = world;
  const position = ageMs(nowMs, world.struckAt.atMs) < 100 ? pointBetween(own.shown, world.struckAt) : own.shown;
  // Gold for a kill is shown as points, not as gathered gold.
  const kills = stats.kills > before.kills;
  RESOURCES.forEach((name, resource) => {
    if (kills && name === 'gold') return;
    const amount = stats[name] - before[name];
    // Passive gold of mills arrives continuously and gets no number.
    const paid = name === 'gold' && ageMs(nowMs, Math.max(own.swing.atMs, world.struckAt.atMs)) > PASSIVE_GOLD_MS;
    if (amount > 0 && !paid) world.pushEvent('gained', nowMs, position, { resource, amount });
  });
  const points = stats.gold - before.gold;
  if (kills && points > 0) world.pushEvent('scored', nowMs, own.shown, { amount: points });
  if (stats.age > before.age) world.pushEvent('aged', nowMs, own.shown, { amount: stats.age });
}

/**
 * Returns a point between a player and an object, closer to the object.
 * @param {{ x: number, y: number }} own @param {{ x: number, y: number }} thing
 */
function pointBetween(own, thing) {
  return { x: own.x + (thing.x - own.x) * 0.6, y: own.y + (thing.y - own.y) * 0.6 };
}
