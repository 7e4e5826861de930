// The page's tables of weapons and items against those of the world, and what the page reckons from them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { drawItem, pictureOf } from '../../../src/web/draw-items.js';
import {
  ANIMALS, CHOICE_ITEMS, GROUP, ITEMS, PROJECTILES, WEAPONS, before, canPay, choiceOf, hasRoom, itemOf, mayBuild, projectileOf,
  speciesOf, weaponOf,
} from '../../../src/web/rules.js';

const source = (name) => readFileSync(new URL(`../../../src/games/moo/world/rules/${name}.rs`, import.meta.url), 'utf8');

/** The text of a table between its brackets. */
function table(text, name) {
  const from = text.indexOf('= [', text.indexOf(`pub const ${name}:`));
  return text.slice(from, text.indexOf('\n];', from));
}

const numbers = (text) => text.split(',').map((one) => Number(one.trim().replaceAll('_', '')));

test('items are those of the world: number, name, group, cost, size', () => {
  const list = table(source('items'), 'ITEMS');
  const built = [...list.matchAll(/built\((\d+), "([^"]+)", (\w+), \[([^\]]+)\], \(([^)]+)\)\)/g)]
    .map(([, id, name, group, cost, size]) => ({ id: Number(id), name, group: group.toLowerCase(), cost: numbers(cost), scale: numbers(size)[1] }));
  const foods = [...list.matchAll(/food\((\d+), "([^"]+)", (\d+), (\d+)\)/g)]
    .map(([, id, name, cost]) => ({ id: Number(id), name, group: 'food', cost: [0, Number(cost), 0, 0], scale: 0 }));
  assert.equal(built.length + foods.length, Number(source('items').match(/ITEMS: \[Item; (\d+)\]/)[1]));
  assert.deepEqual(ITEMS.map(({ does: _, ...row }) => row), [...foods, ...built]);
});

test('what an item is said to do has the figures of the world', () => {
  const list = table(source('items'), 'ITEMS');
  for (const [, id, health] of list.matchAll(/food\((\d+), "[^"]+", \d+, (\d+)\)/g)) assert.match(itemOf(Number(id)).does, new RegExp(` ${health}\\.`));
  const damages = [...list.matchAll(/damage: (\d+),[^(]*built\((\d+)/g)];
  assert.equal(damages.length, 4);
  for (const [, damage, id] of damages) assert.match(itemOf(Number(id)).does, new RegExp(` ${damage}( damage|\\.)`));
});

test('groups have the numbers and limits of the world', () => {
  const text = source('items');
  const ids = Object.fromEntries([...text.matchAll(/^ {4}(\w+) = (\d+),/gm)].map(([, name, id]) => [name.toLowerCase(), Number(id)]));
  const limits = Object.fromEntries([...text.matchAll(/Group::(\w+) => (\d+),/g)].map(([, name, limit]) => [name.toLowerCase(), Number(limit)]));
  assert.deepEqual(structuredClone(GROUP), Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, { id, limit: limits[name] }])));
});

test('weapons are those of the world: number, name, time of a stroke, what they shoot and for how much', () => {
  const text = source('weapons');
  const list = table(text, 'WEAPONS');
  const row = (id, name, ms, more = {}) => ({ id: Number(id), name, ms, strikes: true, shoots: null, cost: [0, 0, 0, 0], ...more });
  // A row that spreads another one may turn it into a shield.
  const strokes = [...list.matchAll(/(shield_percent: \d+,\s*\.\.)?first\((\d+), "([^"]+)", \(([^)]+)\)\)/g)]
    .map(([, shield, id, name, figures]) => row(id, name, numbers(figures)[3], { strikes: shield === undefined }));
  const shooters = [...list.matchAll(/shooter\((\d+), "([^"]+)", \((\d+), \[([^\]]+)\]\), \((\S+), \d+\)\)/g)]
    .map(([, id, name, kind, cost, ms]) => row(id, name, numbers(ms)[0], { strikes: false, shoots: Number(kind), cost: numbers(cost) }));
  const hammer = row(0, 'tool hammer', Number(text.match(/period_ms: (\d+)/)[1]));
  const expected = [hammer, ...strokes, ...shooters].sort((a, b) => a.id - b.id);
  assert.equal(expected.length, Number(text.match(/WEAPONS: \[Weapon; (\d+)\]/)[1]));
  assert.equal(shooters.length, 4);
  assert.deepEqual(WEAPONS.map(({ does: _, ...rest }) => rest), expected);
});

test('what flies has the numbers and speeds of the world', () => {
  const rows = [...table(source('projectiles'), 'PROJECTILES').matchAll(/kind: (\d+), name: "([^"]+)", damage: \d+, speed_px_per_s: ([\d_]+)/g)]
    .map(([, kind, name, speed]) => ({ kind: Number(kind), name, speed: numbers(speed)[0] }));
  assert.equal(rows.length, 5);
  assert.deepEqual(structuredClone(PROJECTILES), rows);
  assert.equal(projectileOf(5).name, 'bullet');
  assert.equal(projectileOf(4).kind, 0, 'an unknown kind flies as an arrow');
});

test('animals have the numbers, health, sizes and speeds of the world', () => {
  const text = source('animals');
  const ids = Object.fromEntries([...text.matchAll(/^ {4}(\w+) = (\d+),/gm)].map(([, name, id]) => [name, Number(id)]));
  const rows = [...table(text, 'ANIMALS').matchAll(/AnimalKind::(\w+),\s+name: "([^"]+)",\s+count: \d+,\s+health: ([\d_]+),\s+speed_px_per_s: (\d+),\s+radius_px: (\d+)/g)]
    .map(([, kind, name, health, speed, radius]) => ({ kind: ids[kind], name, health: numbers(health)[0], radius: Number(radius), speed: Number(speed) }));
  assert.equal(rows.length, 4);
  assert.deepEqual(structuredClone(ANIMALS), rows);
  assert.equal(speciesOf(4).name, 'wolf');
  assert.equal(speciesOf(3).name, 'cow', 'an unknown kind is drawn as a cow');
});

test('a choice is a weapon below 16 and an item from there; what is unknown is nothing', () => {
  assert.equal(choiceOf(7).weapon.name, 'daggers');
  assert.equal(choiceOf(CHOICE_ITEMS + 15).item.name, 'pit trap');
  for (const choice of [CHOICE_ITEMS + 13, CHOICE_ITEMS + 99, 255]) assert.equal(choiceOf(choice), null, `choice ${choice}`);
  assert.equal(choiceOf(9).weapon.name, 'bow');
  assert.equal(weaponOf(99).id, 0, 'an unknown weapon is drawn as a hammer');
  assert.equal(itemOf(13), undefined);
  assert.equal(itemOf(null), undefined);
});

test('an item can be paid with all that it costs, and built up to its limit', () => {
  const spikes = itemOf(6);
  assert.equal(canPay(spikes, [20, 0, 5, 0]), true);
  assert.equal(canPay(spikes, [19, 9, 9, 9]), false);
  assert.equal(canPay(spikes, [99, 9, 4, 9]), false);
  assert.equal(mayBuild(spikes, new Map([[2, 14]])), true);
  assert.equal(mayBuild(spikes, new Map([[2, 15]])), false);
  assert.equal(mayBuild(itemOf(0), new Map()), true, 'food has no limit');
  assert.equal(mayBuild(itemOf(17), new Map([[7, 2]])), false, 'two turrets are all');
  assert.equal(canPay(weaponOf(12), [4, 9, 9, 9]), false, 'a shot has its price as well');
});

test('a place is before somebody, rim to rim, at whole px', () => {
  assert.deepEqual(before({ x: 1000.4, y: 2000 }, 0, itemOf(3)), { x: 1085, y: 2000 });
  assert.deepEqual(before({ x: 1000, y: 2000 }, Math.PI / 2, itemOf(10)), { x: 1000, y: 2080 });
});

test('there is room where nothing is touched, on dry land and on the map', () => {
  const free = (place, things = [], structures = []) => hasRoom(place, 50, things, structures, 14400);
  const place = { x: 3000, y: 4000 };
  assert.equal(free(place), true);
  assert.equal(free({ x: 49, y: 4000 }), false, 'over the edge');
  assert.equal(free({ x: 3000, y: 7200 }), false, 'in the river');
  assert.equal(free(place, [{ kind: 2, x: 3129, y: 4000, scale: 80 }]), false, 'at a rock');
  assert.equal(free(place, [{ kind: 0, x: 3150, y: 4000, scale: 150 }]), true, 'below a crown');
  assert.equal(free(place, [{ kind: 0, x: 3139, y: 4000, scale: 150 }]), false, 'at a trunk');
  assert.equal(free(place, [], [{ item: 3, x: 3099, y: 4000 }]), false, 'at a wall');
  assert.equal(free(place, [], [{ item: 3, x: 3100, y: 4000 }]), true, 'beside a wall');
});

test('every item has a picture that stays within its reach', () => {
  for (const { id, name, scale } of ITEMS) {
    const { reach, draw } = pictureOf(id);
    assert.equal(typeof draw, 'function', name);
    assert.ok(reach >= scale, `${name} reaches ${reach}`);
    let calls = 0;
    const count = () => { calls += 1; };
    drawItem(new Proxy({}, { get: () => count, set: () => true }), id, 40);
    assert.ok(calls > 8, `${name} is drawn`);
  }
});
