// World: packets in, state out, as a server would send them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { decode } from '../../../src/web/game/net/protocol.js';
import { TO_CLIENT } from '../lib/tables.mjs';
import { World } from '../../../src/web/game/world/world.js';

/** A world that takes packets by name and arguments, through real bytes. */
function player() {
  const world = new World();
  let now = 1000;
  const take = (name, ...args) => world.apply(decode(toMsgpack([TO_CLIENT[name].code, args])), (now += 33));
  return { world, take, now: () => now };
}

const welcome = (take, seed = 7, epoch = 'e1') => take('welcome', 1, '00000000000000ff', seed, 14400, 30, 30, epoch, 100);

test('enter, difference, full record, turn, leave', () => {
  const { world, take } = player();
  welcome(take);
  take('update', 101, null, null, [5, 'Ada', 3, 2001, 4000, 64]);
  assert.deepEqual([world.players.get(5).name, world.players.get(5).skin], ['Ada', 3]);
  const at = () => { const { x, y, heading } = world.players.get(5).track.last; return [x, y, heading]; };
  assert.deepEqual(at(), [1000.5, 2000, Math.PI / 2]);
  take('update', 102, null, null, null, null, [5, 21, -4], [5, 128]);
  assert.deepEqual(at(), [1011, 1998, Math.PI]);
  take('update', 103, null, null, null, null, null, [5, 192]);
  assert.deepEqual(at(), [1011, 1998, 1.5 * Math.PI]);
  take('update', 104, null, null, null, [5, 100, 100, 0], null, null);
  assert.deepEqual(at(), [50, 50, 0]);
  take('update', 105, null, null, null, null, [5, 2, 2]);
  assert.deepEqual(at(), [51, 51, 0]);
  take('update', 106, null, [5]);
  assert.equal(world.players.size, 0);
});

test('one\'s own record is exact and of one\'s own player', () => {
  const { world, take } = player();
  welcome(take);
  take('spawned', 9);
  take('update', 101, [4, -1, 100 * 65536 + 32768, 200 * 65536, 65536, 0, 16384, null], null, [9, 'Me', 0, 200, 400, 0]);
  assert.deepEqual(world.own, { sequence: 4, marginTicks: -1, x: 100.5, y: 200, vx: 1, vy: 0, heading: Math.PI / 2, direction: null });
  assert.equal(world.cameraTarget.name, 'Me');
  assert.equal(world.players.get(9).track.last.x, 100.5);
});

test('differences for somebody unknown are passed over', () => {
  const { world, take } = player();
  welcome(take);
  take('update', 101, null, [77], null, [78, 1, 1, 1], [79, 1, 1], [80, 3]);
  assert.equal(world.players.size, 0);
});

test('a chat line hovers for three seconds and stays in the log', () => {
  const { world, take, now } = player();
  welcome(take);
  take('update', 101, null, null, [5, 'Ada', 3, 2000, 4000, 0]);
  take('chat', 5, 'hello');
  world.advance(now() + 2900);
  assert.equal(world.players.get(5).bubble.text, 'hello');
  world.advance(now() + 3100);
  assert.equal(world.players.get(5).bubble, null);
  assert.deepEqual(world.chat.map(({ name, text }) => [name, text]), [['Ada', 'hello']]);
});

test('scenery stays over a reconnection to the same world, and goes with another one', () => {
  const { world, take } = player();
  welcome(take);
  take('objects', [70000, 2, 500, 600, 85, 70001, 0, 900, 600, 150]);
  take('update', 101, null, null, [5, 'Ada', 3, 2000, 4000, 0]);
  welcome(take, 7, 'e2');
  assert.deepEqual([world.things.size, world.players.size, world.ownId], [2, 0, null]);
  welcome(take, 8, 'e3');
  assert.equal(world.things.size, 0);
});

test('a restarted server may begin at tick 0 again', () => {
  const { world, take, now } = player();
  welcome(take);
  world.apply(decode(toMsgpack([1, [1, '00000000000000ff', 7, 14400, 30, 30, 'e2', 0]])), now() + 10);
  assert.equal(world.tick, 0);
  assert.ok(world.clock.tickAt(now() + 10) < 1);
});

test('whom a watcher follows is in focus; the leaderboard comes by rows', () => {
  const { world, take } = player();
  welcome(take);
  take('spectating', 5);
  take('update', 101, null, null, [5, 'Ada', 3, 2000, 4000, 0]);
  assert.equal(world.cameraTarget.name, 'Ada');
  take('leaderboard', [5, 'Ada', 120, 6, 'Bo', 80], null, 2);
  assert.deepEqual(world.leaderboard, { rows: [{ player: 5, name: 'Ada', score: 120 }, { player: 6, name: 'Bo', score: 80 }], rank: null, players: 2 });
});

test('a walk is drawn without a jump at sixty frames a second', () => {
  const { world, take, now: begun } = player();
  welcome(take);
  take('update', 101, null, null, [5, 'Ada', 3, 2000, 4000, 0]);
  let now = begun();
  let tick = 101;
  let last = null;
  const steps = [];
  for (let frame = 0; frame < 240; frame++) {
    now += 1000 / 60;
    // Every second frame an update comes, up to two milliseconds before it is shown.
    if (frame % 2 === 1) world.apply(decode(toMsgpack([2, [(tick += 1), null, null, null, null, [5, 22, 0]]])), now - (frame % 4 === 1 ? 2 : 0));
    world.advance(now);
    const { x } = world.players.get(5).shown;
    if (last !== null && frame > 120) steps.push(x - last);
    last = x;
  }
  // 11 px an update, two frames an update: 5.5 px a frame.
  assert.ok(steps.every((step) => step > 4.4 && step < 6.6), `steps from ${Math.min(...steps)} to ${Math.max(...steps)} px`);
});

test('a body that one has watched as another\'s becomes one\'s own', () => {
  const { world, take } = player();
  welcome(take);
  take('update', 101, null, null, [9, 'Me', 0, 200, 400, 0]);
  take('spawned', 9);
  take('update', 102, [0, -1, 100 * 65536, 200 * 65536, 0, 0, 0, null], [9], [9, 'Me', 0, 200, 400, 0]);
  assert.deepEqual([world.ownId, world.own.x, world.players.size], [9, 100, 1]);
  take('update', 103, null, [9]);
  assert.deepEqual([world.ownId, world.own], [null, null]);
});
