// What flies: where it is at which time, when it ends, and what the world makes of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { decode, toAngle16 } from '../../../src/web/game/net/protocol.js';
import { TO_CLIENT } from '../lib/tables.mjs';
import { projectileOf } from '../../../src/web/game/rules/rules.js';
import { Projectiles } from '../../../src/web/game/world/projectiles.js';
import { World } from '../../../src/web/game/world/world.js';

const EAST = 0;
const SOUTH = toAngle16(Math.PI / 2);
const at = (px) => px * 2;

/** An arrow of player 5 that is seen from 1000 ms on. */
function arrow(more = {}) {
  const shots = new Projectiles();
  const { id = 1, kind = 0, x = 1000, y = 2000, heading = EAST, range = 1000 } = more;
  const added = shots.add([id, kind, 5, at(x), at(y), heading, range], 1000, () => 0);
  return { shots, added };
}

for (const kind of [0, 1, 2, 3, 5]) {
  test(`a ${projectileOf(kind).name} flies straight at ${projectileOf(kind).speed_px_per_s} px a second`, () => {
    const { shots, added: [shot] } = arrow({ kind });
    shots.advance(1100);
    assert.ok(Math.abs(shot.x - (1000 + projectileOf(kind).speed_px_per_s / 10)) < 1e-6, `${shot.x}`);
    assert.equal(shot.y, 2000);
  });
}

test('it flies where it looks', () => {
  const { shots, added: [shot] } = arrow({ heading: SOUTH });
  shots.advance(1250);
  assert.ok(Math.abs(shot.x - 1000) < 0.1 && Math.abs(shot.y - 2400) < 1e-3, `${shot.x}, ${shot.y}`);
});

test('without a word it ends with its range, and has hit nothing', () => {
  const { shots } = arrow({ range: 800 });
  assert.deepEqual(shots.advance(1499), []);
  const [over] = shots.advance(1501);
  assert.deepEqual([over.x, over.y, over.hit, over.ended], [1800, 2000, false, false]);
  assert.equal(shots.flying.size, 0);
  assert.deepEqual(shots.advance(9000), [], 'it ends once');
});

test('an end that is heard of early is flown to; it has hit', () => {
  const { shots } = arrow();
  shots.advance(1050);
  shots.end([1, at(1160), at(2000)]);
  assert.deepEqual(shots.advance(1090), [], 'it is not there yet');
  const [over] = shots.advance(1110);
  assert.deepEqual([over.x, over.hit], [1160, true]);
});

test('an end that is heard of late takes it back to where it ended', () => {
  const { shots } = arrow();
  shots.advance(1300);
  shots.end([1, at(1160), at(2000)]);
  const [over] = shots.advance(1310);
  assert.deepEqual([over.x, over.y, over.hit], [1160, 2000, true]);
});

test('an end beside its way does not let it jump aside, one behind it ends it where it began', () => {
  const beside = arrow().shots;
  beside.end([1, at(1160), at(2030)]);
  assert.equal(beside.advance(2000)[0].y, 2000);
  const behind = arrow().shots;
  behind.end([1, at(900), at(2000)]);
  assert.equal(behind.advance(1001)[0].x, 1000);
});

test('an end at the end of the range is no hit; the end of what is not known is passed over', () => {
  const { shots } = arrow();
  shots.end([1, at(1990), at(2000), 77, 0, 0]);
  assert.equal(shots.advance(3000)[0].hit, false);
});

test('it is seen as late as whoever shot it', () => {
  const shots = new Projectiles();
  const [shot] = shots.add([1, 0, 5, 0, 0, EAST, 1000], 1000, (by) => by * 10);
  shots.advance(1049);
  assert.ok(shot.way < 0);
  shots.advance(1060);
  assert.ok(Math.abs(shot.way - 16) < 1e-6);
});

test('told again it is not new; at most 256 are kept', () => {
  const { shots } = arrow();
  assert.deepEqual(shots.add([1, 0, 5, 0, 0, EAST, 1000], 1010, () => 0), []);
  for (let id = 10; id < 400; id++) shots.add([id, 0, 5, 0, 0, EAST, 1000], 1010, () => 0);
  assert.equal(shots.flying.size, 256);
  assert.ok(shots.flying.has(399) && !shots.flying.has(1));
});

/** A world in which one plays as 9 beside Ada, 5, and a turret, 70500. */
function fight() {
  const world = new World();
  let now = 1000;
  const take = (name, ...args) => world.apply(decode(toMsgpack([TO_CLIENT[name].code, args])), (now += 33));
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e1', 100);
  take('spawned', 9);
  take('update', 101, null, null, [9, 'Me', 2, 1800, 2000, 0, 5, 'Ada', 3, 2000, 2000, 0]);
  take('structures', [70500, 17, 9, 1100, 1000, 0]);
  world.events.length = 0;
  return { world, take, now: () => now };
}

test('the world notes who shot, lets a turret turn there, and notes where it landed', () => {
  const { world, take, now } = fight();
  take('shots', [3, 0, 5, at(1000), at(1000), SOUTH, 500, 4, 1, 70500, at(1100), at(1000), SOUTH, 700]);
  assert.deepEqual(world.events.map(({ kind, id, resource }) => [kind, id, resource]), [['shot', 5, 0], ['shot', 70500, 1]]);
  assert.ok(world.players.get(5).shotMs >= now() && world.players.get(9).shotMs === -Infinity);
  const turret = world.built.structures.get(70500);
  assert.ok(Math.abs(turret.aim - Math.PI / 2) < 1e-3 && turret.aimed === 0);
  world.events.length = 0;
  take('shot_ends', [3, at(1000), at(1200)]);
  world.advance(now() + 2000);
  const landed = world.events.filter(({ kind }) => kind === 'landed');
  assert.deepEqual(landed.map(({ id, amount, x, y }) => [id, amount, Math.round(x), Math.round(y)]), [[5, 1, 1000, 1200], [70500, 0, 1100, 1700]]);
});

test('one\'s own shot is seen sooner than those of others; a new connection knows of none', () => {
  const { world, take } = fight();
  take('shots', [3, 0, 5, 0, 0, 0, 500, 4, 0, 9, 0, 0, 0, 500]);
  const [theirs, own] = [...world.projectiles.flying.values()];
  assert.ok(own.bornMs < theirs.bornMs);
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e2', 1);
  assert.equal(world.projectiles.flying.size, 0);
});
