// What a page shows of a game's states: between two of them, run on in a stall, and which tick it says that is.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Dialect } from '../../../src/web/lib/codec.js';
import { StateBuffer } from '../../../src/web/lib/state-buffer.js';
import { parse } from '../lib/tables.mjs';

const table = readFileSync(new URL('../../../packet_codes/tanks/tanks.tsv', import.meta.url), 'utf8');
const packet = new Dialect({ tables: [{ rows: parse(table) }] }, 'tanks').clientPackets.get('state');
const TICK_MS = 1000 / 60;
const LATE_MS = 150;
const HOW = { units: false };

/** Places are half pixels: tank 1 drives to the right, 4 a tick, tank 2 stands, tank 3 has just stopped. */
const tanks = (tick) => [1, 2, 3].map((player) => ({ player, x: [1000 + 4 * tick, 500, 4 * Math.min(tick, 298)][player - 1], y: 100, hull: 0, turret: 0, health: 100 }));

/** After 300 ticks on a line with as much jitter; nothing is heard after. @param {number} jitterMs */
function stalled(jitterMs) {
  const states = new StateBuffer({ tick_hz: 60, update_hz: 60 });
  for (let tick = 0; tick < 300; tick += 1) {
    const now = tick * TICK_MS + LATE_MS + (tick % 10 === 3 ? jitterMs : 0);
    states.onPacket('state', { tick, tanks: tanks(tick) }, now, false);
  }
  return { states, newest: 299 * TICK_MS + LATE_MS };
}

for (const features of [{ interpolation: true, deadReckoning: true }, { interpolation: true, deadReckoning: false }, { interpolation: false, deadReckoning: true }]) {
  test(`in a stall, seen is the tick that is shown: ${JSON.stringify(features)}`, () => {
    const { states, newest } = stalled(100);
    for (let ms = 0; ms <= 400; ms += TICK_MS) {
      const now = newest + ms;
      const [one] = states.interpolate(packet, now, { ...HOW, features }).tanks;
      const shownTick = (one.x - 1000) / 4;
      assert.ok(Math.abs(states.renderTick(now) - shownTick) <= 0.5, `${ms} ms: tick ${shownTick} is shown, seen is ${states.renderTick(now)}`);
      if (!features.deadReckoning) assert.ok(shownTick <= 299, 'held');
      if (!features.interpolation) assert.equal(shownTick, 299, 'as it came');
    }
  });
}

test('without news a tank goes on, one that stands or has stopped does not, and what is no place stays', () => {
  const { states, newest } = stalled(100);
  const shown = states.interpolate(packet, newest + 350, HOW);
  assert.ok(shown.tanks[0].x > 1000 + 4 * 305, `${shown.tanks[0].x}`);
  assert.deepEqual(shown.tanks.slice(1).map(({ x }) => x), [500, 4 * 298]);
  assert.deepEqual(shown.tanks.map(({ health }) => health), [100, 100, 100]);
  const walked = states.interpolate(packet, newest + 350, { ...HOW, extrapolate: ['tanks'], extrapolatePosition: () => ({ x: 7, y: 8 }) });
  assert.deepEqual([walked.tanks[0].x, walked.tanks[0].y, walked.tanks[1].x], [14, 16, 500], 'by the rules of the game, which are in px');
});

test('on a calm line no news is no gap: a tank goes on for a moment only', () => {
  const { states, newest } = stalled(0);
  const { x } = states.interpolate(packet, newest + 80, HOW).tanks[0];
  assert.ok(x > 1000 + 4 * 299 && x <= 1000 + 4 * 302, `${x}`);
});

test('news after a stall are glided to', () => {
  const { states, newest } = stalled(100);
  const shown = [];
  for (let ms = 0; ms < 900; ms += TICK_MS) {
    const now = newest + ms;
    // It had turned back at once.
    if (ms > 350) for (let tick = states.newestTick + 1; tick * TICK_MS + LATE_MS <= now; tick += 1) states.onPacket('state', { tick, tanks: tanks(598 - tick) }, now, false);
    shown.push(states.interpolate(packet, now, HOW).tanks[0].x);
  }
  const steps = shown.slice(1).map((x, at) => Math.abs(x - shown[at]));
  assert.ok(Math.max(...shown) > 1000 + 4 * 305, 'it was run on');
  assert.ok(Math.max(...steps) < 30, `a step of ${Math.max(...steps)} half px`);
  assert.ok(Math.abs(shown.at(-1) - shown.at(-2) + 4) < 1, 'and then it moves as it does');
});
