// Ages: a frame that starts late has a time before that of the packets it draws, and nothing of it may be negative.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Effects } from '../../../src/web/game/world/effects.js';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { decode } from '../../../src/web/game/net/protocol.js';
import { TO_CLIENT } from '../lib/tables.mjs';
import { World } from '../../../src/web/game/world/world.js';

/** Takes all that is drawn, and refuses what a browser refuses or leaves out: radii below 0, opacities that are none. */
function canvas() {
  const drawn = [];
  const radius = (...radii) => radii.forEach((one) => assert.ok(one >= 0, `a radius of ${one}`));
  const methods = {
    arc: (x, y, one) => { radius(one); drawn.push(one); },
    ellipse: (x, y, one, two) => { radius(one, two); drawn.push(one); },
    scale: (x, y) => assert.ok(x > 0 && y > 0, `a scale of ${x}, ${y}`),
    translate: (x) => drawn.push(x),
    measureText: () => ({ width: 40 }),
    createLinearGradient: () => ({ addColorStop() {} }),
    createRadialGradient: () => ({ addColorStop() {} }),
  };
  const ctx = new Proxy({}, {
    get: (target, name) => target[name] ?? methods[name] ?? (() => {}),
    set: (target, name, value) => {
      if (name === 'globalAlpha') assert.ok(value >= 0 && value <= 1, `an opacity of ${value}`);
      if (name === 'lineWidth') assert.ok(value > 0, `a line of ${value}`);
      target[name] = value;
      return true;
    },
  });
  return { ctx, drawn };
}

globalThis.document = /** @type {any} */ ({ createElement: () => ({ getContext: () => canvas().ctx }) });
// What draws text asks the page for a canvas at once.
const { drawAnimals } = await import('../../../src/web/game/draw/animals.js');
const { drawNumbers, drawPieces, drawPings, drawPrints } = await import('../../../src/web/game/draw/effects.js');
const { drawLabels } = await import('../../../src/web/game/draw/labels.js');
const { drawPlayers } = await import('../../../src/web/game/draw/players.js');
const { drawShots } = await import('../../../src/web/game/draw/shots.js');
const { drawStructures } = await import('../../../src/web/game/draw/structures.js');
const camera = /** @type {any} */ ({ sees: () => true, scale: 1, zoom: 1, ratio: 1, view: { left: 0, top: 0, right: 4000, bottom: 4000 } });
const HEARD_MS = 1000;

/** A scene in which everything that has an age happened at one moment. */
function scene() {
  const world = new World();
  const take = (name, ...args) => world.apply(decode(toMsgpack([TO_CLIENT[name].code, args])), HEARD_MS);
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e1', 100);
  take('spawned', 9);
  take('update', 101, [1, 0, 900 * 65536, 1000 * 65536, 0, 0, 0, null], null, [9, 'Me', 2, 1800, 2000, 0, 5, 'Ada', 3, 2000, 2000, 0]);
  take('structures', [70000, 3, 5, 1000, 1000, 0, 70001, 17, 5, 1100, 1000, 0, 70002, 15, 5, 1200, 1000, 0, 70003, 10, 9, 1300, 1000, 0]);
  take('animals', [1, 0, 2200, 2000, 0, 400, 2, 4, 2400, 2000, 0, 300]);
  take('animal_attacks', [1, 2]);
  take('shots', [1, 1, 70001, 2200, 2000, 0, 700, 2, 0, 5, 2000, 2000, 0, 900]);
  take('swings', [5, 0, 1, 9, 0, 0]);
  take('health', [5, 60]);
  take('clans', [1, 'OAK', 5]);
  take('map_ping', 5, 1500, 1500);
  take('animals_gone', [2]);
  const effects = new Effects(() => 0.5);
  for (const shape of ['leaf', 'chip', 'spark', 'dust']) effects.burst(shape, ['#112233'], 3, 500, 500, 0, 1, 0.4, 10, 700, HEARD_MS);
  effects.number(500, 500, '+1', 'wood', HEARD_MS);
  effects.ring(500, 500, 26, '#ffffff', HEARD_MS);
  effects.addFootprint(500, 500, 0, HEARD_MS);
  for (const id of [1, 2, 5, 9, 70000, 70001]) {
    effects.shake(id, 0, HEARD_MS);
    effects.flash(id, HEARD_MS);
  }
  return { world, effects };
}

function draw({ world, effects }, nowMs) {
  const { ctx, drawn } = canvas();
  world.advance(nowMs);
  drawPrints(ctx, camera, effects, nowMs);
  for (const layer of ['ground', 'solid']) drawStructures(ctx, camera, world, layer, effects, 1, nowMs);
  drawPieces(ctx, camera, effects, nowMs, true);
  drawAnimals(ctx, camera, world.animalTracker, effects, nowMs);
  const players = drawPlayers(ctx, camera, world, { heading: null, pressedMs: HEARD_MS }, effects, 1, nowMs);
  drawStructures(ctx, camera, world, 'turning', effects, 1, nowMs);
  drawShots(ctx, camera, world.projectiles.flying.values());
  drawPieces(ctx, camera, effects, nowMs, false);
  drawLabels(ctx, camera, players, world, true, nowMs);
  drawPings(ctx, camera, world.clans.pingsAt(nowMs));
  drawNumbers(ctx, camera, effects, nowMs, false);
  assert.ok(drawn.every(Number.isFinite));
  return drawn;
}

test('a frame whose time is before everything that it draws is drawn like one of that moment', () => {
  for (const earlyMs of [1, 100, 300, 900, 5000]) draw(scene(), HEARD_MS - earlyMs);
  for (const lateMs of [0, 1, 100, 300, 900, 5000]) draw(scene(), HEARD_MS + lateMs);
});

test('what was built a moment after the frame began comes up from the size at which it begins', () => {
  const radii = (nowMs) => {
    const { ctx, drawn } = canvas();
    const { world, effects } = scene();
    drawStructures(ctx, camera, world, 'solid', effects, 1, nowMs);
    return drawn;
  };
  assert.deepEqual(radii(HEARD_MS - 400), radii(HEARD_MS));
  assert.notDeepEqual(radii(HEARD_MS), radii(HEARD_MS + 100));
});

test('no module takes the age of something by itself', () => {
  const folder = new URL('../../../src/web/', import.meta.url);
  const modules = readdirSync(folder, { recursive: true }).map(String).filter((name) => name.endsWith('.js'));
  const own = /(nowMs|now\(\)) - [\w.(]*(atMs|bornMs|goneMs|seenMs|shotMs|foodMs)\b/;
  const found = modules.filter((name) => own.test(readFileSync(new URL(name, folder), 'utf8').replace('Math.max(0, nowMs - atMs)', '')));
  assert.deepEqual(found, []);
});
