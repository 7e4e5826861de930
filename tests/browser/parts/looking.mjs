// Looking round, talking, the leaderboard, the figures.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until, watchFor } from '../lib/browser.mjs';
import { DESKTOP, soonNear, walk } from '../lib/game.mjs';

/** @param {import('../lib/game.mjs').Game} game */
export async function looking(game) {
  const { ada, bo, ids } = game;
  await game.check('the mouse aims, and all see the heading', async () => {
    await ada.mouse.move(DESKTOP.width / 2, DESKTOP.height / 2 + 200);
    await until(bo, (id) => Math.abs(window.tickwire.players[id]?.heading - Math.PI / 2) < 0.03, ids.ada);
    await soonNear(() => game.wire.players.get(ids.ada).heading, 64, 1, 'heading on the wire, 1/256 turn');
    await ada.mouse.move(DESKTOP.width / 2 - 200, DESKTOP.height / 2);
    await until(bo, (id) => Math.abs(window.tickwire.players[id]?.heading - Math.PI) < 0.03, ids.ada);
    await soonNear(() => game.wire.players.get(ids.ada).heading, 128, 1, 'heading on the wire, 1/256 turn');
  });
  await game.check('chat arrives in the other page and on the wire; keys that are typed do not walk', async () => {
    const before = await state(ada, 'own');
    await ada.keyboard.press('Enter');
    await ada.keyboard.type('wasd or arrows?');
    await sleep(200);
    const { x, y, direction } = await state(ada, 'own');
    assert.deepEqual([x, y, direction], [before.x, before.y, null]);
    const bubble = watchFor(bo, (id) => window.tickwire.players[id]?.bubble === 'wasd or arrows?', ids.ada);
    const line = watchFor(bo, () => [...document.querySelectorAll('#log li')]
      .some((one) => one.textContent.includes('wasd or arrows?') && one.checkVisibility()));
    await ada.keyboard.press('Enter');
    await Promise.all([bubble, line]);
    assert.deepEqual((await state(bo, 'chat')).map((one) => [one.name, one.text]), [['Ada', 'wasd or arrows?']]);
    for (let i = 0; i < 50 && game.wire.chat.length === 0; i++) await sleep(50);
    assert.deepEqual(game.wire.chat, [{ player: ids.ada, text: 'wasd or arrows?' }]);
    await keep(bo, 'chat');
  });
  await game.check('Escape leaves the chat and nothing is said', async () => {
    await bo.keyboard.press('Enter');
    await bo.keyboard.type('not this');
    await bo.keyboard.press('Escape');
    await sleep(300);
    assert.equal(await bo.locator('#chat').isVisible(), false);
    assert.equal((await state(ada, 'chat')).length, 1);
  });
  await game.check('the leaderboard has both, and one\'s own place', async () => {
    await ada.locator('#board-rows li.own', { hasText: 'Ada' }).waitFor();
    await ada.locator('#board-rows li', { hasText: 'Bo' }).waitFor();
  });
  await game.check('a key opens the figures: ping, tick, updates, bytes', async () => {
    await ada.keyboard.press('p');
    await ada.locator('#panel').waitFor({ state: 'visible' });
    await walk(ada, ['d', 'a', 's', 'w'], 250);
    await sleep(1100);
    assert.match(await ada.locator('#p-ping').innerText(), /^\d+(\.\d)? ms$/);
    assert.match(await ada.locator('#p-tick').innerText(), /^\d+ at 30 Hz$/);
    const { bytesIn, bytesOut, undecodable } = await state(ada, 'stats');
    assert.ok(bytesIn > 1000 && bytesOut > 50, `${bytesIn} in, ${bytesOut} out`);
    assert.equal(undecodable, 0);
    await keep(ada, 'play');
    return `${await ada.locator('#p-in').innerText()} in, ping ${await ada.locator('#p-ping').innerText()}`;
  });
}
