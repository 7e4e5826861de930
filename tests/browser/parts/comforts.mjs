// Settings with real clicks, kept over a reload of the page; striking on and on by one key; one panel at a time.

import assert from 'node:assert/strict';
import { keep, settled, state, until } from '../lib/browser.mjs';

/** @param {import('../lib/game.mjs').Game} game */
export async function comforts(game) {
  const { bo, ids } = game;
  await game.check('O opens the settings; a click sets one, the keyboard stays the game\'s, and it is remembered', async () => {
    await bo.keyboard.press('o');
    await bo.locator('#settings').waitFor({ state: 'visible' });
    assert.deepEqual(await state(bo, 'settings'), { volume: 100, effects: true, names: true, speed: false, auto: false });
    await bo.locator('#s-speed').click();
    await bo.locator('#s-names').click();
    await until(bo, () => window.tickwire.settings.speed && !window.tickwire.settings.names);
    await bo.locator('#speed', { hasText: /^\d+ fps · \d+ ms$/ }).waitFor();
    await keep(bo, 'settings');
    assert.deepEqual(JSON.parse(await bo.evaluate(() => localStorage.getItem('tickwire.settings'))), { volume: 100, effects: true, names: false, speed: true });
    await bo.keyboard.press('h');
    await bo.locator('#help').waitFor({ state: 'visible' });
    assert.equal(await bo.locator('#settings').isVisible(), false, 'one panel at a time');
    await bo.keyboard.press('Escape');
    await bo.keyboard.press('o');
    await bo.locator('#s-speed').click();
    await bo.locator('#s-names').click();
    await bo.keyboard.press('Escape');
    await bo.locator('#settings').waitFor({ state: 'hidden' });
  });
  await game.check('E strikes on and on without a button, and E ends it', async () => {
    const swings = async () => (await state(bo, 'players'))[ids.bo].swings;
    const before = await swings();
    await bo.keyboard.press('e');
    await until(bo, ([id, from]) => window.tickwire.players[id]?.swings >= from + 3, [ids.bo, before]);
    await bo.keyboard.press('e');
    await settled(swings);
    assert.equal((await state(bo, 'settings')).auto, false);
  });
}
