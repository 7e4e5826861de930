/**
 * What was heard of and shows but once: what effects and sounds are made of. The list is bounded: a hidden page draws no
 * frame that would take them away. Pure.
 *
 * @module game/world/events
 */

/** Happenings that wait for a frame; beyond, the oldest are dropped. */
const MAX_EVENTS = 256;

/**
 * Something that was heard of and shows but once: what the effects and sounds are made of. Positions are where it was
 * seen, px.
 * @typedef {{ kind: 'swung' | 'struck' | 'hurt' | 'healed' | 'eaten' | 'placed' | 'gone' | 'gained' | 'scored' | 'aged' | 'spawned' | 'fell' | 'said' | 'shot' | 'landed' | 'lunged' | 'vanished' | 'pinged' | 'told', atMs: number,
 *   x: number, y: number, id: number, amount: number, direction: number, resource: number }} WorldEvent
 * - swung: `id` the player · struck: `id` the thing, `direction` of the blow · hurt, healed: `id`, `amount`
 * - eaten: `id` · placed, gone: `id` the structure, `resource` its item
 * - gained: one's own, `resource`, `amount` · scored: one's own, `amount` of points for a kill · aged: one's own, `amount` the new age
 * - spawned: oneself · fell: `id` who died, `amount` its skin · said: `id` · told: the operator
 * - shot: `id` who, `direction`, `resource` the kind · landed: the same, `amount` 1 if it hit something
 * - lunged: `id` the animal · vanished: the same, `amount` its health · pinged: `id` the player, where it is
 */

/**
 * Adds one to a list.
 * @param {WorldEvent[]} list @param {WorldEvent['kind']} kind @param {number} atMs
 * @param {{ x: number, y: number } | undefined} place @param {Partial<WorldEvent>} more
 */
export function pushEvent(list, kind, atMs, place, more) {
  const { x, y } = place ?? { x: NaN, y: NaN };
  if (list.length >= MAX_EVENTS) list.shift();
  list.push({ kind, atMs, x, y, id: 0, amount: 0, direction: 0, resource: 0, ...more });
}
