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
 *
 * - swung: `id` of the player
 * - struck: `id` of the object, `direction` of the hit
 * - hurt, healed: `id`, `amount`
 * - eaten: `id`
 * - placed, gone: `id` of the structure, `resource` its item
 * - gained: `resource` and `amount` of the own player
 * - scored: `amount` of points for a kill
 * - aged: `amount` is the new age of the own player
 * - spawned: the own player
 * - fell: `id` of the dead player, `amount` its skin
 * - said: `id`
 * - told: a notice of the operator
 * - shot: `id` of the shooter, `direction`, `resource` is the kind
 * - landed: as shot, `amount` 1 if it hit something
 * - lunged: `id` of the animal
 * - vanished: `id` of the animal, `amount` its health
 * - pinged: `id` of the player
 *
 * @typedef {{ kind: 'swung' | 'struck' | 'hurt' | 'healed' | 'eaten' | 'placed' | 'gone' | 'gained'
 *   | 'scored' | 'aged' | 'spawned' | 'fell' | 'said' | 'shot' | 'landed' | 'lunged' | 'vanished'
 *   | 'pinged' | 'told', atMs: number, x: number, y: number, id: number, amount: number,
 *   direction: number, resource: number }} WorldEvent
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
