/**
 * Rules of the game that the page displays: weapons, items, costs and sizes. The server sends them
 * as `rules.json`; the page contains none of them and decides nothing.
 *
 * @module game/rules/rules
 */

import { biomeAt } from './palette.js';

/**
 * @typedef {{ id: number, name: string, limit: number, is_solid: boolean }} Group `limit`: maximum
 *   number of structures of a player, 0 for no limit; `is_solid`: whether they block movement
 * @typedef {{ id: number, name: string, interval_ms: number, is_melee: boolean, projectile:
 *   number | null, cost: readonly number[], description: string }} Weapon `interval_ms`: interval
 *   between two attacks; `projectile`: kind of its projectile; `cost`: resources for a shot
 * @typedef {{ id: number, name: string, group: string, cost: readonly number[], radius_px:
 *   number, description: string, duration_ms: number | null }} Item `cost`: wood, food, stone,
 *   gold; `radius_px`: 0 for food; `duration_ms`: lifetime
 * @typedef {{ kind: number, name: string, speed_px_per_s: number }} Projectile
 * @typedef {{ kind: number, name: string, health: number, radius_px: number, speed_px_per_s:
 *   number }} Species
 * @typedef {{ first_item_choice: number, player_radius_px: number, player_health: number,
 *   leaf_radius_percent: number, groups: Group[], weapons: Weapon[], items: Item[], projectiles:
 *   Projectile[], animals: Species[] }} Rules `first_item_choice`: first upgrade choice that is an
 *   item; `leaf_radius_percent`: solid part of the radius of trees and bushes, percent
 */

/** File with the rules. */
const RULES = '../../rules.json';

/** Rules of the server. They are loaded before the page sends `hello`. @type {Rules} */
export let rules = { first_item_choice: 0, player_radius_px: 0, player_health: 1, leaf_radius_percent: 0, groups: [], weapons: [], items: [], projectiles: [], animals: [] };

/** @type {Map<number, Weapon>} */
let weapons = new Map();
/** @type {Map<number, Item>} */
let items = new Map();
/** @type {Map<string, Group>} */
let groups = new Map();

/** Sets the rules of the server. @param {Rules} given */
export function setRules(given) {
  rules = given;
  weapons = new Map(rules.weapons.map((weapon) => [weapon.id, weapon]));
  items = new Map(rules.items.map((item) => [item.id, item]));
  groups = new Map(rules.groups.map((group) => [group.name, group]));
}

/**
 * Fetches and sets the rules of the server.
 * @param {AbortSignal} [signal]
 * @throws {Error} with a sentence for the player, if the server does not respond
 */
export async function loadRules(signal = undefined) {
  const answer = await fetch(new URL(RULES, import.meta.url), { cache: 'no-cache', signal });
  if (!answer.ok) throw new Error(`no rules: status ${answer.status}`);
  setRules(await answer.json());
}

/** Returns a weapon. @param {number} id @returns {Weapon} the first weapon for an unknown number */
export const weaponOf = (id) => weapons.get(id) ?? rules.weapons[0];

/**
 * Returns an item; undefined for null or an unknown number.
 * @param {number | null} id
 * @returns {Item | undefined}
 */
export const itemOf = (id) => (id === null ? undefined : items.get(id));

/** Returns the group of an item. @param {Item} item @returns {Group} */
export const groupOf = (item) => /** @type {Group} */ (groups.get(item.group));

/**
 * Returns a kind of projectile.
 * @param {number} kind
 * @returns {Projectile} the first kind for an unknown one
 */
export const projectileOf = (kind) => rules.projectiles.find((one) => one.kind === kind) ?? rules.projectiles[0];

/**
 * Returns a species of animals.
 * @param {number} kind
 * @returns {Species} the first species for an unknown kind
 */
export const speciesOf = (kind) => rules.animals.find((one) => one.kind === kind) ?? rules.animals[0];

/** @typedef {{ isWeapon: true, weapon: Weapon } | { isWeapon: false, item: Item }} Choice */

/**
 * Returns the weapon or item of an upgrade choice.
 * @param {number} choice
 * @returns {Choice | null} null for an unknown choice
 */
export function choiceOf(choice) {
  const weapon = weapons.get(choice);
  if (choice < rules.first_item_choice) return weapon ? { isWeapon: true, weapon } : null;
  const item = itemOf(choice - rules.first_item_choice);
  return item ? { isWeapon: false, item } : null;
}

/**
 * Whether the resources suffice for a cost.
 * @param {{ cost: readonly number[] }} item
 * @param {readonly number[]} stock wood, food, stone, gold
 */
export function canAfford(item, stock) {
  return item.cost.every((amount, resource) => stock[resource] >= amount);
}

/**
 * Whether the limit of the item's group allows one more structure.
 * @param {Item} item
 * @param {ReadonlyMap<number, number>} counts structures by group
 */
export function mayBuild(item, counts) {
  const { id, limit } = groupOf(item);
  return limit === 0 || (counts.get(id) ?? 0) < limit;
}

/**
 * Returns the position of a structure in front of a player: their edges touch. The result is
 * rounded to whole px.
 * @param {{ x: number, y: number }} at
 * @param {number} heading
 * @param {Item} item
 */
export function positionInFront(at, heading, item) {
  const way = rules.player_radius_px + item.radius_px;
  return { x: Math.round(at.x + way * Math.cos(heading)), y: Math.round(at.y + way * Math.sin(heading)) };
}

/**
 * Whether a structure fits at a position: on the map, not in water, and without overlap.
 * @param {{ x: number, y: number }} place
 * @param {number} scale px
 * @param {Iterable<{ kind: number, x: number, y: number, scale: number }>} things scenery
 * @param {Iterable<{ item: number, x: number, y: number }>} structures
 * @param {number} mapSize px
 */
export function hasRoom({ x, y }, scale, things, structures, mapSize) {
  if (Math.min(x, y) < scale || Math.max(x, y) > mapSize - scale || biomeAt(y, mapSize) === 'river') return false;
  /** @param {{ x: number, y: number }} other @param {number} radius */
  const touches = (other, radius) => Math.hypot(other.x - x, other.y - y) < radius + scale;
  // Only the inner part of a tree or a bush is solid.
  const leaf = rules.leaf_radius_percent / 100;
  for (const thing of things) if (touches(thing, thing.kind < 2 ? thing.scale * leaf : thing.scale)) return false;
  for (const one of structures) if (touches(one, itemOf(one.item)?.radius_px ?? 0)) return false;
  return true;
}
