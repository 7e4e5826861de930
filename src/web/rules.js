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
  trap: { id: 5, limit: 6 }, boost: { id: 6, limit: 12 }, turret: { id: 7, limit: 2 }, heal: { id: 9, limit: 4 },
  spawn: { id: 10, limit: 1 },
});

/**
 * @typedef {{ id: number, name: string, ms: number, strikes: boolean, shoots: number | null, cost: readonly number[], does: string }} Weapon
 *   `ms` from one stroke or shot to the next; `shoots` a kind of `PROJECTILES`, and `cost` of a shot
 * @typedef {{ id: number, name: string, group: keyof typeof GROUP, cost: readonly number[], scale: number, does: string }} Item
 *   cost of wood, food, stone, gold; `scale` the radius of its picture, px, 0 for food
 */

/** What is free: a stroke. */
const FREE = Object.freeze([0, 0, 0, 0]);

/** @param {number} id @param {string} name @param {number} ms @param {string} does @returns {Weapon} */
const stroke = (id, name, ms, does) => ({ id, name, ms, strikes: true, shoots: null, cost: FREE, does });

/** @type {readonly Weapon[]} */
export const WEAPONS = Object.freeze([
  stroke(0, 'tool hammer', 300, 'Gathers and fights.'),
  stroke(1, 'hand axe', 400, 'Gathers twice as much.'),
  stroke(2, 'great axe', 400, 'Gathers four times as much.'),
  stroke(3, 'short sword', 300, 'Reaches far and hurts.'),
  stroke(4, 'katana', 300, 'Reaches farther and hurts more.'),
  stroke(5, 'polearm', 700, 'The longest reach, a slow and heavy blow.'),
  stroke(6, 'bat', 300, 'Knocks others far away.'),
  stroke(7, 'daggers', 100, 'Quick stabs, and you run faster.'),
  stroke(8, 'stick', 400, 'Gathers seven times as much, but hardly hurts anyone.'),
  { id: 9, name: 'bow', ms: 600, strikes: false, shoots: 0, cost: [4, 0, 0, 0], does: 'Shoots arrows.' },
  stroke(10, 'great hammer', 400, 'Breaks what was built.'),
  { ...stroke(11, 'shield', 300, 'Held in front of you, it blocks most damage; it cannot attack.'), strikes: false },
  { id: 12, name: 'crossbow', ms: 700, strikes: false, shoots: 2, cost: [5, 0, 0, 0], does: 'Shoots bolts, faster and farther than a bow.' },
  { id: 13, name: 'repeater', ms: 230, strikes: false, shoots: 3, cost: [10, 0, 0, 0], does: 'Shoots darts, one after another.' },
  stroke(14, 'mc grabby', 700, 'Takes gold from others.'),
  { id: 15, name: 'musket', ms: 1500, strikes: false, shoots: 5, cost: [0, 0, 10, 0], does: 'Shoots bullets: heavy damage from afar, with strong recoil.' },
]);

/** @type {readonly Item[]} */
export const ITEMS = Object.freeze([
  { id: 0, name: 'apple', group: 'food', cost: [0, 10, 0, 0], scale: 0, does: 'Heals 20.' },
  { id: 1, name: 'cookie', group: 'food', cost: [0, 15, 0, 0], scale: 0, does: 'Heals 40.' },
  { id: 2, name: 'cheese', group: 'food', cost: [0, 25, 0, 0], scale: 0, does: 'Heals 60.' },
  { id: 3, name: 'wood wall', group: 'wall', cost: [10, 0, 0, 0], scale: 50, does: 'Blocks the way.' },
  { id: 4, name: 'stone wall', group: 'wall', cost: [0, 0, 25, 0], scale: 50, does: 'Blocks the way, and lasts longer.' },
  { id: 5, name: 'castle wall', group: 'wall', cost: [0, 0, 35, 0], scale: 52, does: 'The strongest wall.' },
  { id: 6, name: 'spikes', group: 'spikes', cost: [20, 0, 5, 0], scale: 49, does: 'Hurt others who touch them: 20.' },
  { id: 7, name: 'greater spikes', group: 'spikes', cost: [30, 0, 10, 0], scale: 52, does: 'Hurt others who touch them: 35.' },
  { id: 8, name: 'poison spikes', group: 'spikes', cost: [35, 0, 15, 0], scale: 52, does: 'Poison others who touch them, and deal 30 damage at once.' },
  { id: 9, name: 'spinning spikes', group: 'spikes', cost: [30, 0, 20, 0], scale: 52, does: 'Hurt others who touch them: 45.' },
  { id: 10, name: 'windmill', group: 'mill', cost: [50, 0, 10, 0], scale: 45, does: 'Pays 1 point a second.' },
  { id: 11, name: 'faster windmill', group: 'mill', cost: [60, 0, 20, 0], scale: 47, does: 'Pays 3 points every 2 seconds.' },
  { id: 12, name: 'power mill', group: 'mill', cost: [100, 0, 50, 0], scale: 47, does: 'Pays 2 points a second.' },
  { id: 15, name: 'pit trap', group: 'trap', cost: [30, 0, 30, 0], scale: 50, does: 'Holds others who step on it; they hardly see it.' },
  { id: 16, name: 'boost pad', group: 'boost', cost: [5, 0, 20, 0], scale: 45, does: 'Throws anyone who steps on it along its arrow.' },
  { id: 17, name: 'turret', group: 'turret', cost: [200, 0, 150, 0], scale: 43, does: 'Shoots at others who come near.' },
  { id: 19, name: 'healing pad', group: 'heal', cost: [30, 10, 0, 0], scale: 45, does: 'Heals anyone who stands on it.' },
  { id: 20, name: 'spawn pad', group: 'spawn', cost: [100, 0, 100, 0], scale: 45, does: 'You respawn here after death.' },
]);

/**
 * What is shot: its speed, px a second.
 * @typedef {{ kind: number, name: string, speed: number }} Projectile
 */
/** @type {readonly Projectile[]} */
export const PROJECTILES = Object.freeze([
  { kind: 0, name: 'arrow', speed: 1600 },
  { kind: 1, name: 'turret bolt', speed: 1500 },
  { kind: 2, name: 'bolt', speed: 2500 },
  { kind: 3, name: 'dart', speed: 2000 },
  { kind: 5, name: 'bullet', speed: 3600 },
]);

/** @typedef {{ kind: number, name: string, health: number, radius: number, speed: number }} Species radius in px, speed in px a second */
/** @type {readonly Species[]} */
export const ANIMALS = Object.freeze([
  { kind: 0, name: 'cow', health: 500, radius: 72, speed: 195 },
  { kind: 1, name: 'pig', health: 800, radius: 72, speed: 174 },
  { kind: 2, name: 'bull', health: 1800, radius: 78, speed: 193 },
  { kind: 4, name: 'wolf', health: 300, radius: 84, speed: 205 },
]);

const weapons = new Map(WEAPONS.map((weapon) => [weapon.id, weapon]));
const items = new Map(ITEMS.map((item) => [item.id, item]));

/** @param {number} id @returns {Weapon} the tool hammer for a number that this page does not know */
export const weaponOf = (id) => weapons.get(id) ?? WEAPONS[0];

/** @param {number | null} id @returns {Item | undefined} */
export const itemOf = (id) => (id === null ? undefined : items.get(id));

/** @param {number} kind @returns {Projectile} an arrow for a kind that this page does not know */
export const projectileOf = (kind) => PROJECTILES.find((one) => one.kind === kind) ?? PROJECTILES[0];

/** @param {number} kind @returns {Species} a cow for a kind that this page does not know */
export const speciesOf = (kind) => ANIMALS.find((one) => one.kind === kind) ?? ANIMALS[0];

/** @typedef {{ isWeapon: true, weapon: Weapon } | { isWeapon: false, item: Item }} Choice */

/** What a choice of an age is. @param {number} choice @returns {Choice | null} null for one that this page does not know */
export function choiceOf(choice) {
  const weapon = weapons.get(choice);
  if (choice < CHOICE_ITEMS) return weapon ? { isWeapon: true, weapon } : null;
  const item = itemOf(choice - CHOICE_ITEMS);
  return item ? { isWeapon: false, item } : null;
}

/** Whether one has what it costs. @param {{ cost: readonly number[] }} item @param {readonly number[]} stock wood, food, stone, gold */
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
