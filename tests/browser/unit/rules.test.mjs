// What the page makes of the rules of the world, which the server gives it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawItem, pictureOf } from '../../../src/web/game/draw/items.js';
import {
  positionInFront, canAfford, choiceOf, groupOf, hasRoom, itemOf, mayBuild, projectileOf, speciesOf, setRules, weaponOf,
} from '../../../src/web/game/rules/rules.js';
import { rules } from '../lib/rules.mjs';

test('the rules of the world name everything, and say what it does with its own figures', () => {
  assert.deepEqual(itemOf(6), {
    id: 6, name: 'spikes', description: 'Hurt others who touch them: 20.', group: 'spikes', cost: [20, 0, 5, 0], radius_px: 49, duration_ms: null,
  });
  assert.equal(itemOf(2).description, 'Heals 60.');
  assert.deepEqual(groupOf(itemOf(6)), { id: 2, name: 'spikes', limit: 15, is_solid: true });
  assert.deepEqual([weaponOf(9).interval_ms, weaponOf(9).is_melee, weaponOf(9).projectile, weaponOf(9).cost], [600, false, 0, [4, 0, 0, 0]]);
  assert.deepEqual([weaponOf(11).is_melee, weaponOf(11).projectile], [false, null], 'a shield');
  assert.ok([...rules.weapons, ...rules.items].every(({ name, description }) => name && description.endsWith('.') && !description.includes('{')));
});

test('what is unknown flies as an arrow, and is drawn as a cow', () => {
  assert.deepEqual(projectileOf(5), { kind: 5, name: 'bullet', speed_px_per_s: 3600 });
  assert.equal(projectileOf(4).kind, 0);
  assert.deepEqual(speciesOf(4), { kind: 4, name: 'wolf', health: 300, radius_px: 84, speed_px_per_s: 205 });
  assert.equal(speciesOf(3).name, 'cow');
});

test('a choice is a weapon below 16 and an item from there; what is unknown is nothing', () => {
  assert.equal(choiceOf(7).weapon.name, 'daggers');
  assert.equal(choiceOf(rules.first_item_choice + 15).item.name, 'pit trap');
  for (const choice of [rules.first_item_choice + 13, rules.first_item_choice + 99, 255]) assert.equal(choiceOf(choice), null, `choice ${choice}`);
  assert.equal(choiceOf(9).weapon.name, 'bow');
  assert.equal(weaponOf(99).id, 0, 'an unknown weapon is drawn as a hammer');
  assert.equal(itemOf(13), undefined);
  assert.equal(itemOf(null), undefined);
});

test('an item can be paid with all that it costs, and built up to its limit', () => {
  const spikes = itemOf(6);
  assert.equal(canAfford(spikes, [20, 0, 5, 0]), true);
  assert.equal(canAfford(spikes, [19, 9, 9, 9]), false);
  assert.equal(canAfford(spikes, [99, 9, 4, 9]), false);
  assert.equal(mayBuild(spikes, new Map([[2, 14]])), true);
  assert.equal(mayBuild(spikes, new Map([[2, 15]])), false);
  assert.equal(mayBuild(itemOf(0), new Map()), true, 'food has no limit');
  assert.equal(mayBuild(itemOf(17), new Map([[7, 2]])), false, 'two turrets are all');
  assert.equal(canAfford(weaponOf(12), [4, 9, 9, 9]), false, 'a shot has its price as well');
});

test('a place is before somebody, rim to rim, at whole px', () => {
  assert.deepEqual(positionInFront({ x: 1000.4, y: 2000 }, 0, itemOf(3)), { x: 1085, y: 2000 });
  assert.deepEqual(positionInFront({ x: 1000, y: 2000 }, Math.PI / 2, itemOf(10)), { x: 1000, y: 2080 });
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

/** Draws an item, and says what was called. @returns {[string, any[]][]} */
function drawn(id) {
  const calls = [];
  const ctx = new Proxy({}, { get: (_, name) => (...args) => calls.push([name, args]), set: () => true });
  drawItem(/** @type {any} */ (ctx), id, 40);
  return calls;
}

test('every item has a picture that stays within its reach', () => {
  for (const { id, name, radius_px: scale } of rules.items) {
    const { reach, draw } = pictureOf(id);
    assert.equal(typeof draw, 'function', name);
    assert.ok(reach >= scale, `${name} reaches ${reach}`);
    const calls = drawn(id);
    assert.ok(calls.length > 8, `${name} is drawn`);
    assert.ok(calls.every(([call]) => call !== 'fillText'), `${name} has a picture of its own`);
  }
});

test('an item without a picture of its own is drawn with its name; one that the rules do not have is not drawn', () => {
  setRules({ ...rules, items: [...rules.items, { ...itemOf(19), id: 99, name: 'magic pad' }] });
  const texts = drawn(99).filter(([call]) => call === 'fillText').map(([, [text]]) => text);
  assert.deepEqual(texts, ['magic', 'pad']);
  assert.ok(pictureOf(99).reach >= itemOf(99).radius_px);
  setRules({ ...rules, items: rules.items.filter(({ id }) => id !== 99) });
  assert.deepEqual(drawn(98).filter(([call]) => ['fill', 'stroke', 'fillText'].includes(call)), []);
});
