// Dead reckoning: where somebody is run on to, and how what is shown glides to what is heard.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TickClock, PositionHistory, step, ErrorBlend, extrapolate } from '../../../src/web/lib/interpolation.js';

const FRAME_MS = 1000 / 60;
/** A field without anything in the way. */
const straight = (from, velocity, ticks) => ({ x: from.x + velocity.x * ticks, y: from.y + velocity.y * ticks });

test('who turns back in a gap is not shown to jump, also if the burst that ends the gap is not yet up to what is shown', () => {
  const clock = new TickClock(30, 30);
  const body = { track: new PositionHistory(), shown: { tick: 0, x: 0, y: 0, heading: 0 }, errorBlend: new ErrorBlend(), walked: 0, pace: 0, way: 0 };
  // To the right until tick 10, 10 px a tick, and then back.
  const place = (tick) => (tick <= 10 ? tick * 10 : 200 - tick * 10);
  let news = -1;
  const tell = (to) => { while (news < to) body.track.push({ tick: news += 1, x: place(news), y: 0, heading: 0 }, clock); };
  tell(10);
  const shown = [];
  for (let frame = 0; frame < 80; frame += 1) {
    const tick = 10 + frame / 2;
    if (frame === 12) tell(12);
    if (frame >= 20) tell(Math.floor(tick) + 2);
    step(body, tick, FRAME_MS, 0.3, extrapolate(body.track, tick, news, clock, straight), true);
    shown.push(body.shown.x);
  }
  assert.equal(shown[11], 155, 'run on');
  const steps = shown.slice(1).map((x, at) => Math.abs(x - shown[at]));
  assert.ok(Math.max(...steps) < 25, `a step of ${Math.max(...steps)} px; the guess was wrong by 115`);
  assert.ok(Math.abs(shown[79] - place(49.5)) < 1, 'and it arrives');
});

test('an error of a room is not glided over', () => {
  const glide = new ErrorBlend();
  const show = (x, before, base) => { const shown = { x, y: 0 }; glide.apply(shown, { x: before, y: 0 }, base, FRAME_MS); return shown.x; };
  assert.equal(show(10, 5, 1), 10);
  assert.equal(show(1000, 10, 2), 1000);
  assert.notEqual(show(900, 1000, null), 900);
});

test('news that agree with the guess change nothing', () => {
  const glide = new ErrorBlend();
  let before = 0;
  for (let frame = 1; frame < 20; frame += 1) {
    const shown = { x: frame * 5, y: 0 };
    glide.apply(shown, { x: before, y: 0 }, Math.floor(frame / 2), FRAME_MS);
    assert.ok(Math.abs(shown.x - frame * 5) < 1e-9);
    before = shown.x;
  }
});

test('who stands, and whom the newest update does not name, is not run on', () => {
  const clock = new TickClock(30, 30);
  const track = new PositionHistory();
  for (let tick = 0; tick < 5; tick += 1) track.push({ tick, x: tick, y: 0, heading: 0 }, clock);
  assert.deepEqual(extrapolate(track, 6, 4, clock, straight), { x: 6, y: 0 });
  assert.equal(extrapolate(track, 6, 9, clock, straight), null);
  assert.equal(extrapolate(track, 4, 4, clock, straight), null);
  assert.equal(extrapolate(track, 100, 4, clock, straight)?.x, 19, 'for half a second');
});
