// Effects: pools that stay bounded, and where everything is at which time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Effects, FLASH_MS, NUMBER_MS, SHAKE_MS, positionOf } from '../../../src/web/game/world/effects.js';

const half = () => 0.5;
const near = (actual, expected, slack, what) => assert.ok(Math.abs(actual - expected) <= slack, `${what}: ${actual}, not ${expected}`);

test('however much happens, the pools keep their size and the newest is shown', () => {
  const effects = new Effects(half);
  const sizes = () => [effects.particles.all.length, effects.numbers.all.length, effects.rings.all.length];
  const before = sizes();
  for (let i = 0; i < 5000; i++) {
    effects.burst('leaf', ['#112233'], 9, i, i, 0, 1, 0.4, 10, 700, i);
    effects.number(i, i, `+${i}`, 'wood', i);
    effects.ring(i, i, 20, '#ffffff', i);
    effects.shake(i, 0, i);
    effects.flash(i, i);
  }
  assert.deepEqual(sizes(), before);
  assert.ok(effects.shaking.size <= 64 && effects.flashing.size <= 64);
  assert.ok(effects.numbers.all.some((one) => one.text === '+4999'));
  assert.ok(effects.shaking.has(4999) && !effects.shaking.has(0));
});

test('what has lived its time is counted no more', () => {
  const effects = new Effects(half);
  effects.burst('chip', ['#112233'], 5, 0, 0, 0, 1, 0.4, 10, 600, 1000);
  effects.number(0, 0, '+1', 'wood', 1000);
  assert.deepEqual(effects.count(1001), { particles: 5, numbers: 1 });
  assert.deepEqual(effects.count(1000 + NUMBER_MS), { particles: 0, numbers: 0 });
});

test('a piece flies where it was sent, slows down and goes no farther than its drag lets it', () => {
  const effects = new Effects(half);
  effects.burst('chip', ['#112233'], 1, 100, 200, Math.PI / 2, 0, 0.6, 10, 1000, 0);
  const [piece] = effects.particles.all;
  const at = (ms) => ({ ...positionOf(piece, ms, { x: 0, y: 0 }) });
  assert.deepEqual(at(0), { x: 100, y: 200 });
  near(at(500).x, 100, 1e-9, 'x');
  const first = at(50).y - at(0).y;
  const later = at(550).y - at(500).y;
  assert.ok(first > 5 * later && later > 0, `${first} px, then ${later} px`);
  assert.ok(at(1e6).y < 200 + 0.6 / 0.006 + 1e-9);
});

test('a struck thing goes with the blow at first, swings back, and rests in its place', () => {
  const effects = new Effects(half);
  const out = { x: 9, y: 9 };
  assert.deepEqual(effects.offset(7, 0, out), { x: 0, y: 0 }, 'never struck');
  effects.shake(7, Math.PI, 1000);
  assert.ok(effects.offset(7, 1000 + SHAKE_MS / 6, out).x < -4, 'away from the blow');
  near(out.y, 0, 1e-9, 'not to the side');
  assert.ok(effects.offset(7, 1000 + SHAKE_MS / 2, out).x > 0, 'back');
  assert.deepEqual(effects.offset(7, 1000 + SHAKE_MS, out), { x: 0, y: 0 });
  for (let ms = 0; ms < SHAKE_MS; ms += 5) assert.ok(Math.abs(effects.offset(7, 1000 + ms, out).x) <= 11);
});

test('who is hurt flashes, ever less', () => {
  const effects = new Effects(half);
  assert.equal(effects.flashOf(3, 0), 0);
  effects.flash(3, 1000);
  assert.equal(effects.flashOf(3, 1000), 1);
  near(effects.flashOf(3, 1000 + FLASH_MS / 2), 0.5, 1e-9, 'half way');
  assert.equal(effects.flashOf(3, 1000 + FLASH_MS), 0);
});
