/**
 * What the page has to know of the rules to show them: weapons and items by number, what they cost, how large they are. The
 * server serves them as `rules.json`, made from the rules of its world: nothing in the page repeats one of them, and nothing
 * here decides what happens.
 *
 * @module game/rules/rules
 */

import { biomeAt } from './palette.js';

/**
 * @typedef {{ id: number, name: string, limit: number, solid: boolean }} Group `limit` of what one may have standing; whether one runs into it
 * @typedef {{ id: number, name: string, ms: number, strikes: boolean, shoots: number | null, cost: readonly number[], does: string }} Weapon
 *   `ms` from one stroke or shot to the next; `shoots` a kind of `projectiles`, and `cost` of a shot
 * @typedef {{ id: number, name: string, group: string, cost: readonly number[], scale: number, does: string,
 *   lasts: number | null }} Item cost of wood, food, stone, gold; `scale` the radius of its picture, px, 0 for food; ms that it stands, if it
 *   ends by itself
 * @typedef {{ kind: number, name: string, speed: number }} Projectile px a second
 * @typedef {{ kind: number, name: string, health: number, radius: number, speed: number }} Species radius in px, speed in px a second
 *
 * `choice_items`: of the numbers of an age's choices, those from here on are items. `player_radius` in px; of a tree or a bush one
 * runs into `leaf_percent` of its picture.
 * @typedef {{ choice_items: number, player_radius: number, player_health: number, leaf_percent: number, groups: Group[], weapons: Weapon[], items: Item[], projectiles: Projectile[],
 *   animals: Species[] }} Rules
 */

/** The rules of the server. */
const RULES = '../../rules.json';

/** Those of the server. There are none until it has sent them, which is before its first packet. @type {Rules} */
export let rules = { choice_items: 0, player_radius: 0, player_health: 1, leaf_percent: 0, groups: [], weapons: [], items: [], projectiles: [], animals: [] };

/** @type {Map<number, Weapon>} */
let weapons = new Map();
/** @type {Map<number, Item>} */
let items = new Map();
/** @type {Map<string, Group>} */
let groups = new Map();

/** Takes the rules of the server. @param {Rules} given */
export function setRules(given) {
  rules = given;
  weapons = new Map(rules.weapons.map((weapon) => [weapon.id, weapon]));
  items = new Map(rules.items.map((item) => [item.id, item]));
  groups = new Map(rules.groups.map((group) => [group.name, group]));
}

/**
 * Fetches the rules of the server, and takes them.
 * @throws {Error} in words for the reader, if the server does not answer
 */
export async function loadRules() {
  const answer = await fetch(new URL(RULES, import.meta.url), { cache: 'no-cache' });
  if (!answer.ok) throw new Error(`no rules: status ${answer.status}`);
  setRules(await answer.json());
}

/** @param {number} id @returns {Weapon} the first one for a number that the rules do not have */
export const weaponOf = (id) => weapons.get(id) ?? rules.weapons[0];

/** @param {number | null} id @returns {Item | undefined} */
export const itemOf = (id) => (id === null ? undefined : items.get(id));

/** @param {Item} item @returns {Group} */
export const groupOf = (item) => /** @type {Group} */ (groups.get(item.group));

/** @param {number} kind @returns {Projectile} the first one for a kind that the rules do not have */
export const projectileOf = (kind) => rules.projectiles.find((one) => one.kind === kind) ?? rules.projectiles[0];

/** @param {number} kind @returns {Species} the first one for a kind that the rules do not have */
export const speciesOf = (kind) => rules.animals.find((one) => one.kind === kind) ?? rules.animals[0];

/** @typedef {{ isWeapon: true, weapon: Weapon } | { isWeapon: false, item: Item }} Choice */

/** What a choice of an age is. @param {number} choice @returns {Choice | null} null for one that the rules do not have */
export function choiceOf(choice) {
  const weapon = weapons.get(choice);
  if (choice < rules.choice_items) return weapon ? { isWeapon: true, weapon } : null;
  const item = itemOf(choice - rules.choice_items);
  return item ? { isWeapon: false, item } : null;
}

/** Whether one has what it costs. @param {{ cost: readonly number[] }} item @param {readonly number[]} stock wood, food, stone, gold */
export function canAfford(item, stock) {
  return item.cost.every((amount, resource) => stock[resource] >= amount);
}

/** Whether one may have one more of it standing. @param {Item} item @param {ReadonlyMap<number, number>} counts by group */
export function mayBuild(item, counts) {
  const { id, limit } = groupOf(item);
  return limit === 0 || (counts.get(id) ?? 0) < limit;
}

/** Where an item would be built: before somebody, rim to rim, at whole px. @param {{ x: number, y: number }} at @param {number} heading @param {Item} item */
export function positionInFront(at, heading, item) {
  const way = rules.player_radius + item.scale;
  return { x: Math.round(at.x + way * Math.cos(heading)), y: Math.round(at.y + way * Math.sin(heading)) };
}

/**
 * Whether there is room for an item, as far as the page knows: on the map, dry, and touching nothing.
 * @param {{ x: number, y: number }} place @param {number} scale px
 * @param {Iterable<{ kind: number, x: number, y: number, scale: number }>} things of nature
 * @param {Iterable<{ item: number, x: number, y: number }>} structures
 * @param {number} mapSize px
 */
export function hasRoom({ x, y }, scale, things, structures, mapSize) {
  if (Math.min(x, y) < scale || Math.max(x, y) > mapSize - scale || biomeAt(y, mapSize) === 'river') return false;
  const touches = (other, radius) => Math.hypot(other.x - x, other.y - y) < radius + scale;
  // Of a tree or a bush one runs into the inner part only.
  const leaf = rules.leaf_percent / 100;
  for (const thing of things) if (touches(thing, thing.kind < 2 ? thing.scale * leaf : thing.scale)) return false;
  for (const one of structures) if (touches(one, itemOf(one.item)?.scale ?? 0)) return false;
  return true;
}
