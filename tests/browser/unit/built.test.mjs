// What was built, what one has and holds: packets in, state and happenings out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawStructures, ghostOf } from '../../../src/web/game/draw/structures.js';
import { Effects } from '../../../src/web/game/world/effects.js';
import { swapTarget, tooltip, unusableReason } from '../../../src/web/game/hud/hotbar.js';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { decode, setTables } from '../../../src/web/game/net/protocol.js';
import { itemOf, setRules } from '../../../src/web/game/rules/rules.js';
import { rules } from '../lib/rules.mjs';
import { TO_CLIENT, parse, rows } from '../lib/tables.mjs';
import { EffectPlayer } from '../../../src/web/game/effect-player.js';
import { impactMs } from '../../../src/web/game/world/player.js';
import { World } from '../../../src/web/game/world/world.js';

const ME = 9;

/** Somebody who plays at 1000, 4000 and is told packets, 33 ms apart. */
function player() {
  const world = new World();
  let now = 1000;
  const take = (name, ...args) => world.apply(decode(toMsgpack([TO_CLIENT[name].code, args])), (now += 33));
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e1', 100);
  take('spawned', ME);
  take('inventory', [0], [0, 3, 6, 10], []);
  take('update', 101, [1, 0, 1000 * 65536, 4000 * 65536, 0, 0, 0, null], null, [ME, 'Me', 0, 2000, 8000, 0]);
  const happened = (kind) => world.events.filter((event) => event.kind === kind);
  return { world, take, happened, me: world.players.get(ME), pass: (ms) => { now += ms; } };
}

const wood = (amount) => [amount, 0, 0, 0, 0, 0, 300, 1, 0];

test('what is built is known until it is gone, and told of once each', () => {
  const { world, take, happened } = player();
  take('structures', [70001, 3, ME, 1085, 4000, 64, 70002, 15, 5, 900, 900, 0]);
  const { x, y, item, owner, heading } = world.built.structures.get(70001);
  assert.deepEqual([x, y, item, owner, heading], [1085, 4000, 3, ME, Math.PI / 2]);
  assert.deepEqual(happened('placed').map((event) => [event.id, event.resource]), [[70001, 3], [70002, 15]]);
  take('structures_gone', [70002, 79999]);
  assert.deepEqual([...world.built.structures.keys()], [70001]);
  assert.deepEqual(happened('gone').map((event) => [event.id, event.x, event.resource]), [[70002, 900, 15]]);
});

test('a structure that is struck shakes; one that is unknown does not', () => {
  const { take, happened } = player();
  take('structures', [70001, 3, ME, 1085, 4000, 64]);
  take('object_hits', [70001, 128, 70005, 0]);
  assert.deepEqual(happened('struck').map((event) => [event.id, event.x, event.direction]), [[70001, 1085, Math.PI]]);
});

test('a new connection begins with nothing', () => {
  const { world, take } = player();
  take('structures', [70001, 3, ME, 1085, 4000, 64]);
  take('upgrade_offers', 1, 2, [1, 3]);
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e2', 200);
  assert.equal(world.built.structures.size, 0);
  assert.deepEqual([world.built.slots, world.built.offers.choices], [[], []]);
});

test('slots are weapons, then items; counts come by group; offers come and go', () => {
  const { world, take } = player();
  const version = world.built.kitVersion;
  take('inventory', [5, 10], [1, 3], [1, 4, 2, 15]);
  assert.deepEqual(world.built.slots, [{ id: 5, isWeapon: true }, { id: 10, isWeapon: true }, { id: 1, isWeapon: false }, { id: 3, isWeapon: false }]);
  assert.deepEqual([...world.built.inventory.counts], [[1, 4], [2, 15]]);
  assert.notEqual(world.built.kitVersion, version);
  take('upgrade_offers', 2, 3, [17, 20]);
  assert.deepEqual(world.built.offers, { points: 2, age: 3, choices: [17, 20] });
  take('upgrade_offers', 0, 4, []);
  assert.deepEqual(world.built.offers.choices, []);
});

test('hands are those of players in view; those of others are forgotten with their turn', () => {
  const { world, take, me } = player();
  take('held_items', [ME, 0, 3, 5, 7, null]);
  assert.deepEqual([me.weapon, me.item], [0, 3]);
  take('update', 102, null);
  take('update', 103, null, null, [5, 'Ada', 3, 2100, 8000, 0]);
  const { weapon, item } = world.players.get(5);
  assert.deepEqual([weapon, item], [0, null]);
});

test('hands told in the same turn before the update belong to who enters', () => {
  const { world, take } = player();
  take('update', 102, null);
  take('held_items', [5, 7, 6]);
  take('update', 103, null, null, [5, 'Ada', 3, 2100, 8000, 0]);
  const { weapon, item } = world.players.get(5);
  assert.deepEqual([weapon, item], [7, 6]);
});

test('spawn protection is known until it ends, whichever packet comes first', () => {
  const { world, take } = player();
  assert.equal(world.players.get(ME).isProtected, false);
  take('spawn_protection', [ME, 1, 5, 1]);
  assert.equal(world.players.get(ME).isProtected, true);
  take('update', 103, null, null, [5, 'Ada', 3, 2100, 8000, 0]);
  assert.equal(world.players.get(5).isProtected, true);
  take('spawn_protection', [ME, 0, 5, 0]);
  assert.deepEqual([ME, 5].map((id) => world.players.get(id).isProtected), [false, false]);
});

test('health that rises with food in the hand was eaten, whichever packet comes first', () => {
  for (const order of [['held_items', 'health'], ['health', 'held_items']]) {
    const { take, happened } = player();
    take('health', [ME, 60]);
    take('held_items', [ME, 0, 0]);
    for (const name of order) take(name, name === 'held_items' ? [ME, 0, null] : [ME, 80]);
    assert.equal(happened('eaten').length, 1, order.join());
    assert.deepEqual(happened('healed').map((event) => event.amount), [20]);
  }
});

test('health that comes back by itself was not eaten', () => {
  const { take, happened, pass } = player();
  take('health', [ME, 60]);
  take('health', [ME, 63]);
  take('held_items', [ME, 0, 0]);
  take('held_items', [ME, 0, null]);
  pass(100);
  take('health', [ME, 66]);
  assert.deepEqual([happened('healed').length, happened('eaten').length], [2, 0]);
});

test('the ghost is before one, and tells whether it can be built', () => {
  const { world, take } = player();
  assert.equal(ghostOf(world, 0), null, 'nothing in the hand');
  take('held_items', [ME, 0, 0]);
  assert.equal(ghostOf(world, 0), null, 'food is not built');
  take('held_items', [ME, 0, 3]);
  assert.deepEqual(ghostOf(world, 0), { id: 3, x: 1085, y: 4000, heading: 0, possible: false }, 'no wood');
  take('stats', ...wood(10));
  assert.equal(ghostOf(world, 0).possible, true);
  take('structures', [70001, 6, 5, 1150, 4000, 0]);
  assert.equal(ghostOf(world, 0).possible, false, 'no room');
  assert.equal(ghostOf(world, Math.PI).possible, true);
  take('inventory', [0], [0, 3, 6, 10], [1, 30]);
  assert.equal(ghostOf(world, Math.PI).possible, false, 'as many as there may be');
});

test('what cannot be used has a reason', () => {
  const { take, world } = player();
  assert.equal(unusableReason(world, 0), '', 'a weapon can always be swung');
  take('held_items', [ME, 0, 6]);
  assert.equal(unusableReason(world, 0), 'Not enough wood and stone');
  take('stats', 20, 10, 5, 0, 0, 0, 300, 1, 0);
  assert.equal(unusableReason(world, 0), '');
  take('structures', [70001, 6, 5, 1150, 4000, 0]);
  assert.equal(unusableReason(world, 0), 'There is no space for it here');
  take('inventory', [0], [0, 3, 6, 10], [2, 15]);
  assert.equal(unusableReason(world, Math.PI), 'You have the maximum number of these');
  take('held_items', [ME, 0, 0]);
  assert.equal(unusableReason(world, 0), 'You are at full health');
  take('health', [ME, 90]);
  assert.equal(unusableReason(world, 0), '');
});

test('Q takes the food, and from an item the weapon again', () => {
  const { world, take } = player();
  assert.deepEqual(swapTarget(world), { id: 0, isWeapon: false });
  take('held_items', [ME, 7, 3]);
  assert.deepEqual(swapTarget(world), { id: 7, isWeapon: true });
  assert.equal(swapTarget(new World()), null);
});

test('gold that mills pay flies up nowhere; gold that is struck does', () => {
  const { take, happened, pass } = player();
  pass(2000);
  take('stats', 0, 0, 0, 5, 0, 0, 300, 1, 5);
  assert.equal(happened('gained').length, 0);
  take('swings', [ME, 0, 1]);
  take('stats', 0, 0, 0, 10, 0, 0, 300, 1, 10);
  assert.deepEqual(happened('gained').map((event) => event.amount), [5]);
});

test('a tip says what something is, does and costs', () => {
  assert.equal(tooltip({ id: 6, isWeapon: false }), 'Spikes. Hurt others who touch them: 20. Costs 20 wood and 5 stone.');
  assert.equal(tooltip({ id: 7, isWeapon: true }), 'Daggers. Quick stabs, and you run faster.');
});

/** A stage for somebody who plays, and what is heard on it. */
function staged() {
  const made = player();
  const heard = [];
  const effects = new Effects(() => 0.5);
  const stage = new EffectPlayer(made.world, { x: 1000, y: 4000, sees: () => true }, effects, { play: (name) => heard.push(name) });
  return { ...made, stage, effects, heard };
}

test('a blow shows when the arm of the weapon that struck has come round', () => {
  const { world, stage } = staged();
  world.swung(ME, 5, true, 2000);
  assert.equal(stage.lateMs({ kind: 'struck', atMs: 2003 }), impactMs(5));
  assert.equal(stage.lateMs({ kind: 'hurt', atMs: 2400 }), impactMs(0));
  assert.equal(stage.lateMs({ kind: 'placed', atMs: 2003 }), 0);
});

test('what oneself builds, what is struck and what breaks is heard and throws up dust', () => {
  const { world, take, stage, effects, heard } = staged();
  const show = () => {
    const { atMs } = world.events.at(-1);
    stage.draw(atMs);
    stage.draw(atMs + 200);
    return effects.count(atMs + 200).particles;
  };
  take('structures', [70001, 3, ME, 1085, 4000, 0, 70002, 4, 5, 1300, 4000, 0]);
  assert.ok(show() > 0);
  assert.deepEqual(heard, ['place'], 'others build without a sound');
  take('object_hits', [70001, 0, 70002, 0]);
  show();
  assert.deepEqual(heard, ['place', 'wood', 'stone']);
  take('structures_gone', [70001]);
  assert.ok(show() > 20);
  assert.deepEqual(heard.at(-1), 'crumble');
});

test('a structure that ends by itself has a ring, which is half closed when half of its time is over', (t) => {
  t.after(() => {
    setTables({ tables: [{ rows }] });
    setRules({ ...rules, items: rules.items.filter(({ id }) => id !== 99) });
  });
  const heading = 'direction\tname\tlane\tnative:int\targuments\tmeaning';
  setTables({ tables: [{ rows: [...rows, ...parse(`${heading}\nto_client\tstructure_ends\tlatest\t99\tuntil:[id:u32,tick:u32.tick]\t-`)] }] });
  setRules({ ...rules, items: [...rules.items, { ...itemOf(19), id: 99, duration_ms: 20000 }] });
  const { world, take } = player();
  take('structures', [70001, 99, ME, 1080, 4000, 0, 70002, 3, ME, 1200, 4000, 0]);
  world.apply(decode(toMsgpack([99, [[70001, 701, 70009, 800]]])), 2000);
  assert.deepEqual([70001, 70002, 70009].map((id) => world.built.structures.get(id)?.endsTick), [701, null, undefined]);
  const turns = [];
  const ctx = new Proxy({}, { get: (_, name) => (name === 'arc' ? (x, y, radius, from, to) => { if (radius === 53) turns.push((to - from) / 2 / Math.PI); } : () => {}), set: () => true });
  const camera = { sees: () => true, scale: 1 };
  const { clock } = world;
  const nowMs = clock.originMs + 401 * clock.tickMs;
  globalThis.document = /** @type {any} */ ({ createElement: () => ({ getContext: () => ctx }) });
  for (const layer of /** @type {const} */ (['ground', 'solid'])) {
    drawStructures(/** @type {any} */ (ctx), /** @type {any} */ (camera), world, layer, new Effects(() => 0.5), 0, nowMs);
  }
  assert.deepEqual(turns.map((turn) => turn.toFixed(2)), ['0.50', '0.50'], 'the ring and what is below it');
});
