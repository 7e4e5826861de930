// The swing: where the arm is at which part of it, and when one's own begins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import '../lib/rules.mjs';
import { impactMs, ownSwingStart, streak, strokeMs, swingAngle, swingMs } from '../../../src/web/game/world/player.js';

test('the arm rests before and after, and when nothing was ever swung', () => {
  for (const part of [-1, 0, 1, 3, Infinity, NaN]) assert.equal(swingAngle(part), 0, `at ${part}`);
});

test('it goes back, then across within a quarter of the time, then home, and never jumps', () => {
  const angles = Array.from({ length: 301 }, (_, i) => swingAngle(i / 300));
  const farBack = angles.indexOf(Math.max(...angles));
  const farAcross = angles.indexOf(Math.min(...angles));
  assert.ok(farBack < farAcross, 'the wind-up comes first');
  assert.ok(farAcross - farBack <= 75, `${farAcross - farBack} of 300 parts for the stroke`);
  assert.ok(angles[farBack] > 0.3 && angles[farAcross] < -0.8);
  const steps = angles.slice(1).map((angle, i) => Math.abs(angle - angles[i]));
  assert.ok(Math.max(...steps) < 0.06, `a step of ${Math.max(...steps)}`);
});

test('the blow of a hammer lands within its 300 ms, in the middle of the stroke', () => {
  assert.equal(swingMs(0), 300);
  assert.ok(impactMs(0) > 60 && impactMs(0) < 150);
  const angle = swingAngle(impactMs(0) / 300);
  assert.ok(angle < 0.3 && angle > -0.9, `${angle}`);
  assert.equal(swingMs(99), swingMs(0), 'a tool that is not known yet is a hammer');
});

test('quick tools strike quickly; the slowest are seen to rest after the blow', () => {
  assert.equal(strokeMs(7), 100);
  assert.equal(strokeMs(0), swingMs(0));
  assert.ok(strokeMs(5) < swingMs(5) && strokeMs(5) > strokeMs(1));
  assert.ok(impactMs(7) < impactMs(0) && impactMs(0) < impactMs(5));
});

test('the streak is there only behind the stroke', () => {
  assert.equal(streak(0.1), null);
  assert.equal(streak(0.9), null);
  assert.equal(streak(1e9), null);
  const { from, to, alpha } = streak(0.4);
  assert.ok(from > to && alpha === 1);
  assert.ok(streak(0.55).alpha < 1);
});

test('a press shows at once; the answer to it does not begin the swing anew; the next one does', () => {
  assert.equal(ownSwingStart(-Infinity, -Infinity, 300), -Infinity);
  assert.equal(ownSwingStart(-Infinity, 1000, 300), 1000, 'pressed, no answer yet');
  assert.equal(ownSwingStart(1080, 1000, 300), 1000, 'answered');
  assert.equal(ownSwingStart(1380, 1000, 300), 1380, 'the second swing');
  assert.equal(ownSwingStart(900, 1400, 300), 1400, 'pressed again');
});
