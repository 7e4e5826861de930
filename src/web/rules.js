/**
 * What the page has to know of the rules to show them: weapons and items by number, what they cost, how large they are.
 * A test compares the tables with those of the world. Pure; nothing here decides what happens.
 *
 * @module rules
 */

import { biomeAt } from './palette.js';

/** Numbers of an age's choices: weapons below, items from here on. */
export const CHOICE_ITEMS = 16;
/** A player's radius, px. */
const PLAYER_RADIUS = 35;

/** Groups of items by number: the limit of what one may have standing, and whether one runs into it. */
export const GROUP = Object.freeze({
  food: { id: 0, limit: 0 }, wall: { id: 1, limit: 30 }, spikes: { id: 2, limit: 15 }, mill: { id: 3, limit: 7 },
  trap: { id: 5, limit: 6 }, boost: { id: 6, limit: 12 }, heal: { id: 9, limit: 4 }, spawn: { id: 10, limit: 1 },
});

/**
 * @typedef {{ id: number, name: string, ms: number, does: string }} Weapon `ms` from one stroke to the next
 * @typedef {{ id: number, name: string, group: keyof typeof GROUP, cost: readonly number[], scale: number, does: string }} Item
 *   cost of wood, food, stone, gold; `scale` the radius of its picture, px, 0 for food
 */

/** @type {readonly Weapon[]} */
export const WEAPONS = Object.freeze([
  { id: 0, name: 'tool hammer', ms: 300, does: 'Gathers and fights.' },
  { id: 1, name: 'hand axe', ms: 400, does: 'Gathers twice as much.' },
  { id: 2, name: 'great axe', ms: 400, does: 'Gathers four times as much.' },
  { id: 3, name: 'short sword', ms: 300, does: 'Reaches far and hurts.' },
  { id: 4, name: 'katana', ms: 300, does: 'Reaches farther and hurts more.' },
  { id: 5, name: 'polearm', ms: 700, does: 'The longest reach, a slow and heavy blow.' },
  { id: 6, name: 'bat', ms: 300, does: 'Knocks others far away.' },
  { id: 7, name: 'daggers', ms: 100, does: 'Quick stabs, and one runs faster.' },
  { id: 8, name: 'stick', ms: 400, does: 'Gathers seven times as much, hurts nobody much.' },
  { id: 10, name: 'great hammer', ms: 400, does: 'Breaks what was built.' },
  { id: 14, name: 'mc grabby', ms: 700, does: 'Takes gold from others.' },
]);

/** @type {readonly Item[]} */
export const ITEMS = Object.freeze([
  { id: 0, name: 'apple', group: 'food', cost: [0, 10, 0, 0], scale: 0, does: 'Heals 20.' },
  { id: 1, name: 'cookie', group: 'food', cost: [0, 15, 0, 0], scale: 0, does: 'Heals 40.' },
  { id: 2, name: 'cheese', group: 'food', cost: [0, 25, 0, 0], scale: 0, does: 'Heals 60.' },
  { id: 3, name: 'wood wall', group: 'wall', cost: [10, 0, 0, 0], scale: 50, does: 'Stands in the way.' },
  { id: 4, name: 'stone wall', group: 'wall', cost: [0, 0, 25, 0], scale: 50, does: 'Stands in the way, and stands longer.' },
  { id: 5, name: 'castle wall', group: 'wall', cost: [0, 0, 35, 0], scale: 52, does: 'The strongest wall.' },
  { id: 6, name: 'spikes', group: 'spikes', cost: [20, 0, 5, 0], scale: 49, does: 'Hurt others who touch them: 20.' },
  { id: 7, name: 'greater spikes', group: 'spikes', cost: [30, 0, 10, 0], scale: 52, does: 'Hurt others who touch them: 35.' },
  { id: 9, name: 'spinning spikes', group: 'spikes', cost: [30, 0, 20, 0], scale: 52, does: 'Hurt others who touch them: 45.' },
  { id: 10, name: 'windmill', group: 'mill', cost: [50, 0, 10, 0], scale: 45, does: 'Pays 1 point a second.' },
  { id: 11, name: 'faster windmill', group: 'mill', cost: [60, 0, 20, 0], scale: 47, does: 'Pays 3 points in 2 seconds.' },
  { id: 12, name: 'power mill', group: 'mill', cost: [100, 0, 50, 0], scale: 47, does: 'Pays 2 points a second.' },
  { id: 15, name: 'pit trap', group: 'trap', cost: [30, 0, 30, 0], scale: 50, does: 'Holds others who step on it; they hardly see it.' },
  { id: 16, name: 'boost pad', group: 'boost', cost: [5, 0, 20, 0], scale: 45, does: 'Throws whoever steps on it along its arrow.' },
  { id: 19, name: 'healing pad', group: 'heal', cost: [30, 10, 0, 0], scale: 45, does: 'Heals whoever stands on it.' },
  { id: 20, name: 'spawn pad', group: 'spawn', cost: [100, 0, 100, 0], scale: 45, does: 'Here you play again after death.' },
]);

const weapons = new Map(WEAPONS.map((weapon) => [weapon.id, weapon]));
const items = new Map(ITEMS.map((item) => [item.id, item]));

/** @param {number} id @returns {Weapon} the tool hammer for a number that this page does not know */
export const weaponOf = (id) => weapons.get(id) ?? WEAPONS[0];

/** @param {number | null} id @returns {Item | undefined} */
export const itemOf = (id) => (id === null ? undefined : items.get(id));

/** @typedef {{ isWeapon: true, weapon: Weapon } | { isWeapon: false, item: Item }} Choice */

/** What a choice of an age is. @param {number} choice @returns {Choice | null} null for one that this page does not know */
export function choiceOf(choice) {
  const weapon = weapons.get(choice);
  if (choice < CHOICE_ITEMS) return weapon ? { isWeapon: true, weapon } : null;
  const item = itemOf(choice - CHOICE_ITEMS);
  return item ? { isWeapon: false, item } : null;
}

/** Whether one has what it costs. @param {Item} item @param {readonly number[]} stock wood, food, stone, gold */
export function canPay(item, stock) {
  return item.cost.every((amount, resource) => stock[resource] >= amount);
}

/** Whether one may have one more of it standing. @param {Item} item @param {ReadonlyMap<number, number>} counts by group */
export function mayBuild(item, counts) {
  const { id, limit } = GROUP[item.group];
  return limit === 0 || (counts.get(id) ?? 0) < limit;
}

/** Where an item would be built: before somebody, rim to rim, at whole px. @param {{ x: number, y: number }} at @param {number} heading @param {Item} item */
export function before(at, heading, item) {
  const way = PLAYER_RADIUS + item.scale;
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
  for (const thing of things) if (touches(thing, thing.kind < 2 ? thing.scale * 0.6 : thing.scale)) return false;
  for (const one of structures) if (touches(one, itemOf(one.item)?.scale ?? 0)) return false;
  return true;
}
