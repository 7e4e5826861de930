// The animals in view: where they are drawn between two words of the server, how well they are, when they are gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FADE_MS, FIRST_ANIMAL } from '../../../src/web/game/world/animals.js';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { decode } from '../../../src/web/game/net/protocol.js';
import { TO_CLIENT } from '../lib/tables.mjs';
import { World } from '../../../src/web/game/world/world.js';

const WOLF = 4;
const TICK_MS = 1000 / 30;
const at = (px) => px * 2;

/** A world of thirty ticks a second, of which tick 0 is heard at 0 ms. */
function meadow() {
  const world = new World();
  const take = (ms, name, ...args) => world.apply(decode(toMsgpack([TO_CLIENT[name].code, args])), ms);
  take(0, 'welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e1', 0);
  take(0, 'spawned', 9);
  for (let tick = 0; tick <= 30; tick++) {
    take(tick * TICK_MS, 'update', tick, [tick, 0, 65536 * 1000, 65536 * 1000, 0, 0, 0, null], null, tick === 0 ? [9, 'Me', 2, 2000, 2000, 0] : null);
  }
  world.events.length = 0;
  const wolf = () => world.animalTracker.all.get(FIRST_ANIMAL);
  const kinds = () => world.events.map(({ kind }) => kind);
  return { world, take, wolf, kinds };
}

test('an animal appears where it is said to be, whole or not', () => {
  const { take, wolf, kinds } = meadow();
  take(1001, 'animals', [0, WOLF, at(1200), at(900), 64, 250]);
  const { kind, shown, health, shownHealth } = wolf();
  assert.deepEqual([kind, shown.x, shown.y, health, shownHealth], [WOLF, 1200, 900, 250, 250]);
  assert.ok(Math.abs(shown.heading - Math.PI / 2) < 1e-9);
  assert.deepEqual(kinds(), [], 'whoever comes into view hurt was not hurt now');
});

test('it is drawn between where it was and where it is, as late as players are', () => {
  const { world, take, wolf } = meadow();
  for (let i = 0; i <= 30; i++) {
    const tick = 31 + i;
    take(tick * TICK_MS, 'update', tick, [tick, 0, 65536 * 1000, 65536 * 1000, 0, 0, 0, null]);
    take(tick * TICK_MS + 1, 'animals', [0, WOLF, at(1200 + 6 * i), at(900), 0, 300]);
    world.advance(tick * TICK_MS + 2);
  }
  const seen = [];
  for (let ms = 61 * TICK_MS; ms < 63 * TICK_MS; ms += 4) {
    world.advance(ms);
    seen.push(wolf().shown.x);
  }
  const steps = seen.slice(1).map((x, i) => x - seen[i]);
  assert.ok(steps.every((step) => step >= 0 && step < 1.2), `steps ${steps.map((step) => step.toFixed(2))}`);
  const late = 1200 + 6 * 30 - seen[0];
  assert.ok(late > 6 && late < 6 * 4, `${late} px behind`);
  assert.ok(wolf().pace > 0.5, 'it is seen to walk');
});

test('animals that walk while no update is sent are placed by the moment they are heard of', () => {
  const { world, take, wolf } = meadow();
  for (let tick = 31; tick <= 60; tick++) take(tick * TICK_MS + 0.5, 'animals', [0, WOLF, at(1200 + 6 * (tick - 31)), at(900), 0, 300]);
  assert.deepEqual(wolf().track.samples.slice(-3).map(({ tick }) => tick), [58, 59, 60]);
  for (const [tick, x] of [[50, 1314], [50.5, 1317]]) {
    world.animalTracker.advance(tick, 16, 2000);
    assert.ok(Math.abs(wolf().shown.x - x) < 1e-6, `${wolf().shown.x} at tick ${tick}`);
  }
});

test('what it loses is told once, with its own number', () => {
  const { world, take, wolf } = meadow();
  take(1001, 'animals', [0, WOLF, at(1200), at(900), 0, 300]);
  take(1034, 'animals', [0, WOLF, at(1200), at(900), 0, 265]);
  take(1067, 'animals', [0, WOLF, at(1200), at(900), 0, 265]);
  assert.deepEqual(world.events.map(({ kind, id, amount }) => [kind, id, amount]), [['hurt', FIRST_ANIMAL, 35]]);
  for (let ms = 1070; ms < 2000; ms += 16) world.advance(ms);
  assert.ok(Math.abs(wolf().shownHealth - 265) < 1, 'the bar has glided there');
});

test('a strike is noted; of what is not known it is passed over', () => {
  const { take, wolf, kinds } = meadow();
  take(1001, 'animals', [0, WOLF, at(1200), at(900), 0, 300]);
  take(1034, 'animal_attacks', [0, 8]);
  assert.deepEqual(wolf().strike, { atMs: 1034, count: 1 });
  assert.deepEqual(kinds(), ['lunged']);
});

test('whoever dies of nobody right after a strike died of that animal', () => {
  const { world, take } = meadow();
  take(1001, 'animals', [0, WOLF, at(1100), at(1000), 0, 300, 1, 2, at(1050), at(1000), 0, 1800]);
  take(1034, 'animal_attacks', [0]);
  take(1100, 'died', null, null);
  assert.equal(world.death.beast, 'wolf');
  take(1200, 'spawned', 9);
  take(1201, 'update', 32, null, null, [9, 'Me', 2, 2000, 2000, 0]);
  take(2000, 'died', null, null);
  assert.equal(world.death.beast, '', 'a strike of long ago was not it');
});

test('one that is gone fades, and takes its last health with it', () => {
  const { world, take, wolf } = meadow();
  take(1001, 'animals', [0, WOLF, at(1200), at(900), 0, 20]);
  take(1034, 'animals_gone', [0, 5]);
  assert.equal(wolf(), undefined);
  assert.deepEqual(world.events.map(({ kind, id, amount, x }) => [kind, id, amount, x]), [['vanished', FIRST_ANIMAL, 20, 1200]]);
  world.advance(1034 + FADE_MS - 1);
  assert.equal(world.animalTracker.fading.length, 1);
  world.advance(1034 + FADE_MS + 1);
  assert.equal(world.animalTracker.fading.length, 0);
});

test('who has just got another body sees other animals; none of the old ones has died', () => {
  const { take, kinds } = meadow();
  take(1001, 'animals', [0, WOLF, at(1200), at(900), 0, 300]);
  take(1034, 'spawned', 9);
  take(1035, 'animals_gone', [0]);
  assert.deepEqual(kinds(), []);
});

test('a number that is used again for another kind is another animal', () => {
  const { take, wolf, kinds } = meadow();
  take(1001, 'animals', [0, WOLF, at(1200), at(900), 0, 300]);
  take(1034, 'animals', [0, 1, at(4000), at(900), 0, 200]);
  assert.deepEqual([wolf().kind, wolf().shown.x, wolf().track.samples.length], [1, 4000, 1]);
  assert.deepEqual(kinds(), []);
});
