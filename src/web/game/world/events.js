/**
 * World events that effects and sounds show once. The list is bounded, because a hidden page draws
 * no frames that would consume it.
 *
 * @module game/world/events
 */

/** Maximum number of pending events. Further ones drop the oldest. */
const MAX_EVENTS = 256;

/**
 * A world event that effects and sounds show once. The position is where it was rendered, px.
 * @typedef {{ kind: 'swung' | 'struck' | 'hurt' | 'healed' | 'eaten' | 'placed' | 'gone' | 'gained'
 *   | 'scored' | 'aged' | 'spawned' | 'fell' | 'said' | 'shot' | 'landed' | 'lunged' | 'vanished' |
 *   'pinged' | 'told', atMs: number, x: number, y: number, id: number, amount: number, direction:
 *   number, resource: number }} WorldEvent - swung: `id` the player · struck: `id` the thing,
 *   `direction` of the blow · hurt, healed: `id`, `amount` - eaten: `id` · placed, gone: `id` the
 *   structure, `resource` its item - gained: one's own, `resource`, `amount` · scored: one's own,
 *   `amount` of points for a kill · aged: one's own, `amount` the new age - spawned: oneself ·
 *   fell: `id` who died, `amount` its skin · said: `id` · told: the operator - shot: `id` who,
 *   `direction`, `resource` the kind · landed: the same, `amount` 1 if it hit something - lunged:
 *   `id` the animal · vanished: the same, `amount` its health · pinged: `id` the player, where it
 *   is
 */

/**
 * Appends an event and limits the list.
 * @param {WorldEvent[]} list
 * @param {WorldEvent['kind']} kind
 * @param {number} atMs
 * @param {{ x: number, y: number } | undefined} place
 * @param {Partial<WorldEvent>} more
 */
export function pushEvent(list, kind, atMs, place, more) {
  const { x, y } = place ?? { x: NaN, y: NaN };
  if (list.length >= MAX_EVENTS) list.shift();
  list.push({ kind, atMs, x, y, id: 0, amount: 0, direction: 0, resource: 0, ...more });
}
