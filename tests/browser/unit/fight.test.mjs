// The world of blows: swings, health, figures, deaths and kills, as packets bring them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Commands } from '../../../src/web/game/net/commands.js';
import { Effects } from '../../../src/web/game/world/effects.js';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { decode } from '../../../src/web/game/net/protocol.js';
import { rules } from '../lib/rules.mjs';
import { TO_CLIENT } from '../lib/tables.mjs';
import { EffectPlayer } from '../../../src/web/game/effect-player.js';
import { World } from '../../../src/web/game/world/world.js';

/** A world in which one plays as number 9, beside Ada, number 5. */
function fight() {
  const world = new World();
  let now = 1000;
  const take = (name, ...args) => world.apply(decode(toMsgpack([TO_CLIENT[name].code, args])), (now += 33));
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e1', 100);
  take('spawned', 9);
  take('objects', [70000, 0, 1000, 1000, 150, 70001, 3, 3000, 1000, 80]);
  take('update', 101, [1, 0, 900 * 65536, 1000 * 65536, 0, 0, 0, null], null, [9, 'Me', 2, 1800, 2000, 0, 5, 'Ada', 3, 2000, 2000, 0]);
  world.events.length = 0;
  const kinds = () => world.events.map((event) => event.kind);
  return { world, take, kinds, now: () => now };
}

test('a swing is noted with its tool; one of somebody out of view is passed over', () => {
  const { world, take, kinds, now } = fight();
  take('swings', [5, 0, 1, 77, 0, 0]);
  assert.deepEqual(world.players.get(5).swing, { atMs: now(), hit: true, count: 1 });
  assert.deepEqual(kinds(), ['swung']);
});

test('health goes down and up, and each change says by how much', () => {
  const { world, take } = fight();
  assert.equal(world.players.get(5).health, rules.player_health);
  take('health', [5, 75]);
  take('health', [5, 75]);
  take('health', [5, 80, 9, 60]);
  const seen = world.events.map(({ kind, id, amount }) => [kind, id, amount]);
  assert.deepEqual(seen, [['hurt', 5, 25], ['healed', 5, 5], ['hurt', 9, 40]]);
});

test('health that comes before its player enters is theirs, and is no damage', () => {
  const { world, take, kinds } = fight();
  take('health', [6, 40]);
  take('update', 102, null, null, [6, 'Bo', 1, 2000, 2000, 0]);
  assert.deepEqual([world.players.get(6).health, world.players.get(6).shownHealth], [40, 40]);
  take('update', 103, null, [6]);
  take('update', 104, null, null, [6, 'Bo', 1, 2000, 2000, 0]);
  assert.equal(world.players.get(6).health, rules.player_health, 'whoever enters without a word is whole');
  assert.deepEqual(kinds(), []);
});

test('what one gathers is told by its difference, beside what was struck', () => {
  const { world, take } = fight();
  take('stats', 2, 0, 0, 0, 0, 8, 300, 1, 0);
  const first = world.events.at(-1);
  assert.deepEqual([first.kind, first.resource, first.amount, first.x], ['gained', 0, 2, 900]);
  take('object_hits', [70000, 0]);
  take('stats', 3, 0, 0, 5, 0, 12, 300, 1, 5);
  const gains = world.events.filter((event) => event.kind === 'gained').slice(1);
  assert.deepEqual(gains.map(({ resource, amount, x }) => [resource, amount, Math.round(x)]), [[0, 1, 960], [3, 5, 960]]);
  take('stats', 0, 0, 0, 5, 0, 12, 300, 1, 5);
  assert.equal(world.events.filter((event) => event.kind === 'gained').length, 3, 'spending is no gain');
});

test('what a kill pays is told as points, and not as gold that was gathered', () => {
  const { world, take } = fight();
  take('stats', 0, 0, 0, 5, 0, 4, 300, 1, 5);
  take('stats', 0, 0, 0, 205, 1, 8, 300, 1, 205);
  assert.deepEqual(world.events.filter(({ kind }) => kind === 'scored').map(({ amount }) => amount), [200]);
  assert.equal(world.events.filter(({ kind, amount }) => kind === 'gained' && amount === 200).length, 0);
});

test('dying keeps the figures of the life that ended, though they are reset before it is told', () => {
  const { world, take, now } = fight();
  take('stats', 10, 0, 0, 0, 2, 50, 432, 3, 300);
  take('stats', 10, 0, 0, 0, 2, 0, 300, 1, 300);
  take('died', 5, 'Ada');
  assert.deepEqual(world.death, { killer: 5, name: 'Ada', beast: '', age: 3, kills: 2, score: 300, x: 900, y: 1000, atMs: now() });
  assert.deepEqual([world.ownId, world.own, world.players.has(9), world.spectated], [null, null, false, 5]);
  assert.equal(world.cameraTarget.name, 'Ada', 'the dead look at who did it');
  take('spawned', 9);
  assert.deepEqual([world.death, world.lifeAge], [null, 1]);
});

test('a kill is told once, and the victim falls where it stood', () => {
  const { world, take, kinds } = fight();
  take('kill', 9, 'Me', 5, 'Ada');
  take('kill', null, null, 88, 'Far');
  take('update', 102, null, [5]);
  assert.deepEqual(world.kills.map(({ killer, killerName, victim, victimName }) => [killer, killerName, victim, victimName]),
    [[9, 'Me', 5, 'Ada'], [null, '', 88, 'Far']]);
  assert.deepEqual(kinds(), ['hurt', 'fell'], 'the last blow took what was left');
  assert.equal(world.events[0].amount, rules.player_health);
  for (let i = 0; i < 100; i++) take('kill', 1, 'A', 2, 'B');
  assert.ok(world.kills.length <= 20);
});

test('one\'s own death falls once and where one stood, whichever of its packets comes first', () => {
  const packets = { died: [5, 'Ada'], kill: [5, 'Ada', 9, 'Me'], update: [102, null, [9]], spectating: [5] };
  const orders = [['died', 'kill', 'update', 'spectating'], ['kill', 'died', 'spectating', 'update'], ['spectating', 'update', 'died', 'kill'],
    ['update', 'kill', 'died', 'spectating']];
  for (const order of orders) {
    const { world, take, kinds } = fight();
    for (const name of order) take(name, ...packets[name]);
    assert.deepEqual(kinds(), ['hurt', 'fell'], order.join());
    assert.deepEqual([world.death.x, world.death.y, world.ownId, world.cameraTarget.id], [900, 1000, null, 5], order.join());
  }
});

test('another one\'s death falls where it stood, before and after it left the view', () => {
  for (const order of [['kill', 'update'], ['update', 'kill']]) {
    const { take, world } = fight();
    for (const name of order) take(name, ...(name === 'kill' ? [9, 'Me', 5, 'Ada'] : [102, null, [5]]));
    assert.deepEqual(world.events.map(({ kind, x }) => [kind, x]), [['hurt', 1000], ['fell', 1000]], order.join());
  }
});

test('a page that draws no frames forgets what it would have shown', () => {
  const { world, take } = fight();
  for (let i = 0; i < 1000; i++) take('swings', [5, 0, 0]);
  assert.ok(world.events.length <= 256);
});

/** A stage over such a world, which notes what it plays. */
function staged() {
  const made = fight();
  const effects = new Effects(() => 0.5);
  const heard = [];
  const camera = { x: 900, y: 1000, sees: () => true };
  const stage = new EffectPlayer(made.world, camera, effects, { play: (name) => heard.push(name) });
  return { ...made, stage, effects, heard };
}

test('a struck tree shakes when the drawn hammer has come round to it', () => {
  const { take, stage, effects, heard, now } = staged();
  const out = { x: 0, y: 0 };
  take('swings', [9, 0, 1]);
  take('object_hits', [70000, 0]);
  stage.draw(now() + 5);
  assert.deepEqual(heard, ['swing']);
  assert.equal(effects.shaking.size, 0);
  stage.draw(now() + 150);
  assert.deepEqual(heard, ['swing', 'wood']);
  assert.ok(effects.offset(70000, now() + 200, out).x > 0, 'away from whoever struck');
  assert.ok(effects.count(now() + 160).particles > 0);
});

test('less motion: numbers and sounds, but nothing flies and nothing shakes', () => {
  const { take, stage, effects, heard, now } = staged();
  stage.calm = true;
  take('object_hits', [70000, 0]);
  take('health', [5, 75]);
  take('kill', 9, 'Me', 5, 'Ada');
  stage.draw(now() + 10);
  stage.draw(now() + 200);
  assert.deepEqual(effects.count(now() + 201), { particles: 0, numbers: 2 });
  assert.equal(effects.shaking.size, 0);
  assert.deepEqual(heard.toSorted(), ['death', 'hurt', 'hurt', 'wood']);
});

test('what happened while the page was hidden is not caught up with', () => {
  const { take, stage, heard, now } = staged();
  take('object_hits', [70000, 0]);
  stage.draw(now() + 60000);
  stage.draw(now() + 60200);
  assert.deepEqual(heard, []);
});

test('a press is heard at once, and its answer is not heard again', () => {
  const { take, stage, heard, now } = staged();
  stage.press(now());
  stage.press(now() + 50);
  assert.deepEqual(heard, ['swing']);
  take('swings', [9, 0, 0]);
  stage.draw(now());
  assert.deepEqual(heard, ['swing']);
  take('swings', [5, 0, 0]);
  stage.draw(now());
  assert.deepEqual(heard, ['swing', 'swing']);
});

test('attack: the newest heading goes first, each change is sent once, a new body swings nothing', () => {
  const { world } = fight();
  const sent = [];
  const commands = new Commands({ send: (name, values) => sent.push([name, values.heading ?? values.state]) }, world);
  commands.spawned();
  assert.equal(commands.attack(true, Math.PI / 2), true);
  assert.equal(commands.attack(true, Math.PI), false);
  assert.equal(commands.attack(false, Math.PI), true);
  assert.deepEqual(sent, [['aim', 16384], ['attack', 1], ['attack', 0]]);
  commands.attack(true, null);
  commands.spawned();
  assert.equal(commands.attack(true, null), true, 'said again to the new body');
  world.ownId = null;
  assert.equal(commands.attack(false, null), false, 'nothing without a body');
});
