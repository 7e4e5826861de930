// Walking with real keys, as the page, the other page and the wire see it.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { state, until } from '../lib/browser.mjs';
import { rest, walk } from '../lib/game.mjs';

/** @param {import('../lib/game.mjs').Game} game */
export async function walking(game) {
  const { ada, bo, ids } = game;
  /** Key that leads away from what stands around. */
  let key = 'd';
  await game.check('one walks with a key held', async () => {
    key = await walk(ada, ['d', 's', 'a', 'w'], 120);
    await rest(ada);
    return `${key} leads somewhere`;
  });
  await game.check('the other sees a walk within two updates', async () => {
    await until(bo, (id) => {
      const { x, y, shown } = window.tickwire.players[id];
      return Math.hypot(shown.x - x, shown.y - y) < 0.1;
    }, ids.ada);
    const from = (await state(bo, 'players'))[ids.ada];
    game.wire.mark();
    // The recorder notes, frame by frame, how far the page has heard and where it has the other one.
    await bo.evaluate((id) => {
      window.recorded = [];
      const note = () => {
        const { tick, players } = window.tickwire;
        window.recorded.push({ tick, x: players[id].x, y: players[id].y, shown: players[id].shown, at: performance.now() });
        window.recorder = requestAnimationFrame(note);
      };
      note();
    }, ids.ada);
    const back = { d: 'a', a: 'd', w: 's', s: 'w' }[key];
    await walk(ada, [back], 100);
    await rest(ada);
    await sleep(400);
    const frames = await bo.evaluate(() => { cancelAnimationFrame(window.recorder); return window.recorded; });
    const moved = game.wire.movedAt.get(ids.ada);
    assert.ok(moved !== undefined, 'the wire never said that Ada moved');
    const heard = frames.find((frame) => frame.tick >= moved + 2 * game.wire.updateTicks);
    assert.ok(heard, 'the page never heard of two updates more');
    assert.ok(heard.x !== from.x || heard.y !== from.y, `at tick ${heard.tick} the page had not seen what began at ${moved}`);
    const shown = frames.find((frame) => Math.hypot(frame.shown.x - from.shown.x, frame.shown.y - from.shown.y) > 1);
    assert.ok(shown, 'nothing moved in the picture');
    return `heard by tick ${heard.tick}, begun at ${moved}; drawn ${Math.round(shown.at - heard.at)} ms later; ${smoothness(frames)}`;
  });
  await game.check('arrow keys walk as well, two of them at an angle', async () => {
    const before = await state(bo, 'own');
    await bo.keyboard.down('ArrowDown');
    await bo.keyboard.down('ArrowRight');
    await until(bo, () => window.tickwire.own.direction === 8192);
    await bo.keyboard.up('ArrowRight');
    await until(bo, () => window.tickwire.own.direction === 16384);
    await bo.keyboard.up('ArrowDown');
    await rest(bo);
    const after = await state(bo, 'own');
    assert.ok(Math.hypot(after.x - before.x, after.y - before.y) > 1);
  });
  await game.check('both pages and the wire agree on both positions', () => game.positions());
  await losingFocus(game, key);
}

/** @param {import('../lib/game.mjs').Game} game @param {string} key one that leads away from what stands around */
async function losingFocus(game, key) {
  const { ada } = game;
  await game.check('a window that loses the focus stops the walk, though it draws no frame any more', async () => {
    await ada.keyboard.down(key);
    await until(ada, () => window.tickwire.own.direction !== null);
    await ada.evaluate(() => {
      window.realFrame = window.requestAnimationFrame;
      window.requestAnimationFrame = (callback) => { window.heldFrame = callback; return 0; };
    });
    await sleep(100);
    await ada.evaluate(() => window.dispatchEvent(new Event('blur')));
    for (let i = 0; i < 60 && (await state(ada, 'own')).direction !== null; i++) await sleep(50);
    assert.equal((await state(ada, 'own')).direction, null);
    await ada.evaluate(() => {
      window.requestAnimationFrame = window.realFrame;
      window.requestAnimationFrame(window.heldFrame);
    });
    await ada.keyboard.up(key);
    await rest(ada);
  });
}

/** How evenly somebody was drawn to walk; printed, since a busy machine says more about itself than about us. */
function smoothness(frames) {
  const steps = frames.slice(1).map((frame, i) => ({
    px: Math.hypot(frame.shown.x - frames[i].shown.x, frame.shown.y - frames[i].shown.y),
    ms: frame.at - frames[i].at,
  })).filter((step) => step.px > 0.5);
  const sorted = (list) => list.sort((a, b) => a - b);
  const frameMs = sorted(frames.slice(1).map((frame, i) => frame.at - frames[i].at));
  const speeds = sorted(steps.map((step) => (step.px / step.ms) * 1000));
  const at = (list, part) => Math.round(list[Math.floor((list.length - 1) * part)] ?? 0);
  return `frames p50 ${at(frameMs, 0.5)} p95 ${at(frameMs, 0.95)} ms, drawn speed p50 ${at(speeds, 0.5)} p95 ${at(speeds, 0.95)} px/s`;
}
