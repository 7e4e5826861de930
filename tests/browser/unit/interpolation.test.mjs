// Clock and Track with time as an argument: what is shown when, on a calm line and on a restless one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TickClock, PositionHistory, lerpAngle } from '../../../src/web/lib/interpolation.js';

const TICK = 1000 / 30;
const near = (actual, expected, slack, what) => assert.ok(Math.abs(actual - expected) <= slack, `${what}: ${actual}, not ${expected} ± ${slack}`);
const sample = (tick, x, heading = 0) => ({ tick, x, y: 0, heading });
const shown = (track, tick) => track.at(tick, { tick: 0, x: 0, y: 0, heading: 0 });

/** A clock that has heard `count` updates, each `late(i)` ms late. */
function heard(count, late) {
  const clock = new TickClock(30, 30);
  let now = 0;
  for (let i = 0; i < count; i++) {
    now = 1000 + i * TICK + late(i);
    clock.onUpdate(i, now, true);
    clock.advance(now);
  }
  return { clock, now };
}

test('on a calm line others are shown two to three updates behind, oneself one to two', () => {
  const { clock, now } = heard(300, () => 0);
  near(clock.tickAt(now), 299, 0.01, 'newest tick');
  const others = 299 - clock.renderTick(now);
  const own = 299 - clock.ownTick(now);
  assert.ok(others >= 2 && others <= 3, `others ${others}`);
  assert.ok(own >= 1 && own <= 2, `own ${own}`);
});

test('on a restless line the delay grows until late updates are still in time, and shrinks again', () => {
  const { clock, now } = heard(400, (i) => (i % 10 === 9 ? 90 : 0));
  assert.ok(clock.delayMs > 90 + TICK, `delay ${clock.delayMs}`);
  let at = now;
  for (let i = 400; i < 1600; i++) {
    at = 1000 + i * TICK;
    clock.onUpdate(i, at, true);
    clock.advance(at);
  }
  near(clock.delayMs, 2.25 * TICK, 2, 'delay after the calm');
});

test('the delay has an end, however bad the line', () => {
  const { clock } = heard(3000, (i) => (i % 5 === 4 ? 3000 : 0));
  assert.equal(clock.targetDelayMs(), 400);
});

test('shown time never runs backwards and never more than a tenth too fast or slow', () => {
  const { clock, now } = heard(60, () => 40);
  let last = clock.renderTick(now);
  for (let frame = 1; frame < 600; frame++) {
    const at = now + frame * 16;
    // From here updates come 40 ms sooner: the clock has to catch up without a jump.
    if (frame % 2 === 0) clock.onUpdate(60 + Math.floor((frame * 16) / TICK), 1000 + (60 + Math.floor((frame * 16) / TICK)) * TICK, true);
    clock.advance(at);
    const tick = clock.renderTick(at);
    const pace = ((tick - last) * TICK) / 16;
    assert.ok(pace > 0.8 && pace < 1.2, `frame ${frame}: pace ${pace}`);
    last = tick;
  }
});

test('a pong within a tick, or a hiccup of the page, does not count as restlessness', () => {
  const { clock, now } = heard(100, (i) => (i === 50 ? 300 : 0));
  clock.onUpdate(100, now + 1.9 * TICK, false);
  near(clock.jitterMs, 0, 1e-6, 'jitter');
});

test('without updates pongs keep the clock', () => {
  const clock = new TickClock(30, 30);
  clock.onUpdate(0, 1000, true);
  for (let second = 1; second <= 400; second++) clock.onUpdate(30 * second, 1000 + 1000 * second * 1.001, false);
  clock.advance(401400);
  near(clock.tickAt(401400), 12000, 5, 'tick after 400 s of a clock that runs a thousandth slower');
});

test('a command is meant for the first tick that it can reach', () => {
  const { clock, now } = heard(100, () => 0);
  assert.equal(clock.commandTick(now), null, 'unknown before the first ping');
  clock.pingMs = 0;
  assert.equal(clock.commandTick(now + 1), 99);
  clock.pingMs = 100;
  assert.equal(clock.commandTick(now + 1), 102);
  // A server that leaves out three periods is three ticks behind from then on; half a second later commands know.
  for (let i = 100; i < 116; i++) clock.onUpdate(i, 1000 + (i + 3) * TICK, true);
  clock.pingMs = 0;
  assert.equal(clock.commandTick(1000 + 118 * TICK + 1), 115);
});

test('between two samples in proportion, outside them as they are', () => {
  const clock = new TickClock(30, 30);
  const track = new PositionHistory();
  track.push(sample(10, 100), clock);
  track.push(sample(11, 110), clock);
  assert.equal(shown(track, 10.25).x, 102.5);
  assert.equal(shown(track, 9).x, 100);
  assert.equal(shown(track, 50).x, 110);
});

test('who was not named stood still: the first step after a rest is one step long', () => {
  const clock = new TickClock(30, 30);
  const track = new PositionHistory();
  track.push(sample(10, 100), clock);
  track.push(sample(40, 111), clock);
  assert.equal(shown(track, 38.9).x, 100);
  near(shown(track, 39.5).x, 105.5, 1e-9, 'half of the step');
});

test('a full record that covers missed updates is walked to; after a long silence it is not', () => {
  const clock = new TickClock(30, 30);
  const walked = new PositionHistory();
  walked.push(sample(10, 100), clock);
  walked.push(sample(14, 140), clock, true);
  assert.equal(shown(walked, 12).x, 120);
  const away = new PositionHistory();
  away.push(sample(10, 100), clock);
  away.push(sample(70, 900), clock, true);
  assert.equal(shown(away, 60).x, 100);
});

test('a sample of an earlier tick replaces what came after it, and a track stays short', () => {
  const clock = new TickClock(30, 30);
  const track = new PositionHistory();
  for (let i = 0; i < 500; i++) track.push(sample(i, i), clock);
  assert.ok(track.samples.length <= 40);
  track.push(sample(490, 7), clock);
  assert.equal(track.last.tick, 490);
  assert.ok(track.samples.every((one, i, all) => i === 0 || one.tick > all[i - 1].tick));
});

test('headings turn the short way round', () => {
  near(lerpAngle(3, -3, 0.5), Math.PI, 1e-9, 'across the seam');
  near(lerpAngle(0.1, 6.2, 0.5), 0.1 - (2 * Math.PI - 6.1) / 2, 1e-9, 'backwards through zero');
  assert.equal(lerpAngle(1, 2, 0.5), 1.5);
});
