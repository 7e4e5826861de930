// A page that is loaded again, or opened a second time, comes back to its player, with its things.

import assert from 'node:assert/strict';
import { press, state, until } from '../lib/browser.mjs';
import { DESKTOP } from '../lib/game.mjs';

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
  await game.check('a copy of the tab is a second player, and both stay who they are when they are loaded again', async () => {
    game.server.order('notice Double gold until <b>noon</b>');
    const copy = await copyOf(ada);
    const [{ score }, best] = [await state(ada, 'figures'), await copy.locator('#title-best').innerText()];
    const shown = Number(best.match(/^Your best score: ([0-9,]+)( · best today: .+, [0-9,]+)?$/)?.[1].replaceAll(',', ''));
    assert.ok(score > 0 && shown >= score, `${best}, now ${score}`);
    assert.equal(await copy.locator('#title-notice').innerText(), 'Double gold until <b>noon</b>');
    game.server.order('notice off');
    await press(copy, '#play');
    await until(copy, () => window.tickwire.id !== null);
    const id = await state(copy, 'id');
    assert.notEqual(id, ids.ada);
    await copy.reload();
    await until(copy, (own) => window.tickwire.id === own && window.tickwire.own, id);
    assert.deepEqual([await state(ada, 'id'), await state(ada, 'lives')], [ids.ada, 1]);
    await copy.close();
    // Otherwise it draws nothing after the reload, and the test waits for its frames.
    await ada.bringToFront();
    await ada.reload();
    await until(ada, (own) => window.tickwire.id === own && window.tickwire.own, ids.ada);
  });
  await game.check('so it is without Web Locks, as on http, where the pages ask each other', async () => {
    const context = await game.browser.newContext({ viewport: DESKTOP });
    await context.addInitScript(() => { Object.defineProperty(Navigator.prototype, 'locks', { value: undefined }); });
    const page = await context.newPage();
    game.complaints.watch(page, 'cy');
    await page.goto(game.server.url);
    await until(page, () => window.tickwire?.state === 'live');
    await press(page, '#play');
    await until(page, () => window.tickwire.own !== null);
    const id = await state(page, 'id');
    const copy = await copyOf(page);
    await press(copy, '#play');
    await until(copy, () => window.tickwire.id !== null);
    assert.notEqual(await state(copy, 'id'), id);
    await copy.close();
    await page.bringToFront();
    await page.reload();
    await until(page, (own) => window.tickwire.id === own && window.tickwire.own, id);
    await context.close();
  });
}

/** A copy of a page's tab, once it is connected. @param {import('playwright-core').Page} page */
async function copyOf(page) {
  const opened = page.waitForEvent('popup');
  await page.evaluate(() => { window.open(location.href); });
  const copy = await opened;
  await until(copy, () => window.tickwire?.state === 'live');
  return copy;
}
