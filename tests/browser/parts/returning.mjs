// A page that is loaded again, or opened a second time, comes back to its player, with its things.

import assert from 'node:assert/strict';
import { press, state, until } from '../lib/browser.mjs';

/** @param {import('../lib/game.mjs').Game} game */
export async function returning(game) {
  const { ada, bo, ids } = game;
  await game.check('a page that is loaded again is in its body at once, with its points, and nobody has seen it leave', async () => {
    const before = await state(ada, 'figures');
    await bo.evaluate((id) => {
      window.gaps = 0;
      window.watcher = setInterval(() => { window.gaps += id in window.tickwire.players ? 0 : 1; }, 5);
    }, ids.ada);
    const from = performance.now();
    await ada.reload();
    await until(ada, (id) => window.tickwire.id === id && window.tickwire.own, ids.ada);
    const ms = performance.now() - from;
    await until(ada, (score) => window.tickwire.figures.score === score, before.score);
    assert.equal(await bo.evaluate(() => { clearInterval(window.watcher); return window.gaps; }), 0);
    assert.equal(await ada.locator('#title').isVisible(), false);
    return `${Math.round(ms)} ms`;
  });
  await game.check('a copy of the tab takes the player over, and the first page says so and does not fight for it', async () => {
    const opened = ada.waitForEvent('popup');
    await ada.evaluate(() => { window.open(location.href); });
    const copy = await opened;
    // The button is there before its script.
    await until(copy, () => window.tickwire?.state === 'live');
    await press(copy, '#play');
    await until(copy, (id) => window.tickwire.id === id, ids.ada);
    await ada.locator('#status-text', { hasText: 'The game goes on in another tab.' }).waitFor();
    await copy.close();
    // Otherwise it draws nothing after the reload, and the test waits for its frames.
    await ada.bringToFront();
    await ada.reload();
    await until(ada, (id) => window.tickwire.id === id && window.tickwire.own, ids.ada);
  });
}
