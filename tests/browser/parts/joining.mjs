// Watching, joining with mouse and keys, and seeing each other.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, press, state, until } from '../lib/browser.mjs';
import { MAP_PX } from '../lib/game.mjs';
import { RawWatcher } from '../lib/wire.mjs';

/** @param {import('../lib/game.mjs').Game} game */
export async function joining(game) {
  const { ada, bo, ids } = game;
  await game.check('a page shows the live world as a watcher while the name is being typed', async () => {
    await ada.goto(game.server.url);
    await until(ada, () => window.tickwire.state === 'live');
    assert.equal(await state(ada, 'id'), null);
    await ada.keyboard.type('Ada');
    assert.equal(await ada.inputValue('#name'), 'Ada');
    await keep(ada, 'title');
  });
  await game.check('one joins with the mouse', async () => {
    await press(ada, '#skins label:nth-of-type(9)');
    await press(ada, '#play');
    await until(ada, () => window.tickwire.id !== null && window.tickwire.own !== null);
    assert.equal(await ada.locator('#title').isVisible(), false);
  });
  await game.check('the other watches the first before it joins with the keyboard', async () => {
    await bo.goto(game.server.url);
    await until(bo, () => window.tickwire.spectated !== null);
    assert.equal(await state(bo, 'spectated'), await state(ada, 'id'));
    await keep(bo, 'title-watching');
    await bo.keyboard.type('Bo');
    await bo.keyboard.press('Enter');
  });
  await game.check('each sees the other by name and skin', async () => {
    await game.readIds();
    assert.notEqual(ids.ada, ids.bo);
    await until(bo, (id) => window.tickwire.players[id]?.x > 0, ids.ada);
    await until(ada, (id) => window.tickwire.players[id]?.x > 0, ids.bo);
    const seen = (await state(bo, 'players'))[ids.ada];
    assert.deepEqual([seen.name, seen.skin], ['Ada', 8]);
    assert.equal((await state(ada, 'players'))[ids.bo].name, 'Bo');
  });
  await game.check('a third client on a raw socket sees both', async () => {
    game.wire = new RawWatcher(game.server.port);
    const welcome = await game.wire.ready;
    assert.deepEqual([welcome[0], welcome[3]], [1, MAP_PX]);
    game.wire.follow(ids.ada);
    for (let i = 0; i < 100 && game.wire.players.size < 2; i++) await sleep(30);
    assert.deepEqual([...game.wire.players.values()].map((player) => player.name).sort(), ['Ada', 'Bo']);
  });
}
