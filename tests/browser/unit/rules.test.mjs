// The page's tables of weapons and items against those of the world, and what the page reckons from them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { drawItem, pictureOf } from '../../../src/web/draw-items.js';
import {
  CHOICE_ITEMS, GROUP, ITEMS, WEAPONS, before, canPay, choiceOf, hasRoom, itemOf, mayBuild, weaponOf,
} from '../../../src/web/rules.js';

const source = (name) => readFileSync(new URL(`../../../src/world/rules/${name}.rs`, import.meta.url), 'utf8');

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
  assert.equal(damages.length, 3);
  for (const [, damage, id] of damages) assert.match(itemOf(Number(id)).does, new RegExp(` ${damage}\\.`));
});

test('groups have the numbers and limits of the world', () => {
  const text = source('items');
  const ids = Object.fromEntries([...text.matchAll(/^ {4}(\w+) = (\d+),/gm)].map(([, name, id]) => [name.toLowerCase(), Number(id)]));
  const limits = Object.fromEntries([...text.matchAll(/Group::(\w+) => (\d+),/g)].map(([, name, limit]) => [name.toLowerCase(), Number(limit)]));
  assert.deepEqual(structuredClone(GROUP), Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, { id, limit: limits[name] }])));
});

test('weapons are those of the world: number, name, time of a stroke', () => {
  const text = source('weapons');
  const expected = [{ id: 0, name: 'tool hammer', ms: Number(text.match(/period_ms: (\d+)/)[1]) },
    ...[...table(text, 'WEAPONS').matchAll(/first\((\d+), "([^"]+)", \(([^)]+)\)\)/g)]
      .map(([, id, name, figures]) => ({ id: Number(id), name, ms: numbers(figures)[3] }))];
  assert.equal(expected.length, Number(text.match(/WEAPONS: \[Weapon; (\d+)\]/)[1]));
  assert.deepEqual(WEAPONS.map(({ does: _, ...row }) => row), expected);
});

test('a choice is a weapon below 16 and an item from there; what is unknown is nothing', () => {
  assert.equal(choiceOf(7).weapon.name, 'daggers');
  assert.equal(choiceOf(CHOICE_ITEMS + 15).item.name, 'pit trap');
  for (const choice of [9, 15, CHOICE_ITEMS + 8, 255]) assert.equal(choiceOf(choice), null, `choice ${choice}`);
  assert.equal(weaponOf(9).id, 0, 'an unknown weapon is drawn as a hammer');
  assert.equal(itemOf(8), undefined);
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
