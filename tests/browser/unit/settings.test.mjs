// Settings: what is kept, what is refused, and that a page without storage works all the same. Beside them what a press does
// while one strikes already, and what shows for the arms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Commands } from '../../../src/web/game/net/commands.js';
import { ARMS, shotPicture } from '../../../src/web/game/draw/arms.js';
import { rules } from '../lib/rules.mjs';
import { DEFAULTS, Settings } from '../../../src/web/game/settings.js';
import { recoilProgress } from '../../../src/web/game/world/player.js';

function fakeStore(entries = {}) {
  return { entries, getItem: (key) => entries[key] ?? null, setItem: (key, value) => { entries[key] = value; } };
}

test('at first everything is as it is meant to be; what is set is kept', () => {
  const store = fakeStore();
  const heard = [];
  const settings = new Settings(store, (name) => heard.push(name));
  assert.deepEqual(settings.values, { ...DEFAULTS });
  settings.set('names', false);
  settings.set('volume', 35);
  settings.set('volume', 35);
  assert.deepEqual(heard, ['names', 'volume']);
  assert.deepEqual(new Settings(store).values, { ...DEFAULTS, names: false, volume: 35 });
});

test('what makes no sense is passed over, in the page and in the store', () => {
  const settings = new Settings(fakeStore());
  for (const [name, value] of [['volume', '50'], ['volume', NaN], ['names', 1], ['nothing', true], ['toString', true]]) settings.set(name, value);
  assert.deepEqual(settings.values, { ...DEFAULTS });
  settings.set('volume', 1000);
  assert.equal(settings.values.volume, 100);
  for (const text of ['not json', '[1]', 'null', '{"volume":"loud","effects":0,"other":1}']) {
    assert.deepEqual(new Settings(fakeStore({ 'tickwire.settings': text })).values, { ...DEFAULTS }, text);
  }
});

test('where storage is forbidden it is forgotten, and nothing breaks', () => {
  const refuse = () => { throw new Error('forbidden'); };
  const settings = new Settings({ getItem: refuse, setItem: refuse });
  settings.set('effects', false);
  assert.equal(settings.values.effects, false);
});

test('a press while one strikes already uses the item that was taken into the hand since', () => {
  const sent = [];
  const world = { ownId: 9, clock: { commandTick: () => null } };
  const commands = new Commands({ send: (name, { state }) => { sent.push([name, state]); return true; } }, world);
  assert.equal(commands.attack(true, null), true);
  assert.equal(commands.attack(true, null), false, 'held, it is told once');
  assert.equal(commands.attack(true, null, true), true, 'pressed again, it is told again');
  assert.equal(commands.attack(false, null, true), true);
  assert.equal(commands.attack(false, null, true), false, 'no press, nothing to use');
  assert.deepEqual(sent, [['attack', 1], ['attack', 1], ['attack', 0]]);
});

test('whatever does not strike is held with both hands, and all that flies has a picture', () => {
  assert.deepEqual(Object.keys(ARMS).map(Number), rules.weapons.filter((weapon) => !weapon.is_melee).map((weapon) => weapon.id));
  for (const { kind, name } of rules.projectiles) {
    let calls = 0;
    const count = () => { calls += 1; };
    const { draw, length } = shotPicture(kind);
    draw(new Proxy({}, { get: () => count, set: () => true }), length);
    assert.ok(calls > 3, `${name} is drawn`);
  }
});

test('a shot throws back at once and is over soon', () => {
  assert.equal(recoilProgress(0), 1);
  assert.ok(recoilProgress(100) < 0.5);
  for (const since of [-1, 210, 9999, Infinity, NaN]) assert.equal(recoilProgress(since), 0, `${since} ms`);
});
