// The server stops and starts again under two pages that play.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until } from '../lib/browser.mjs';
import { FLAGS, walk } from '../lib/game.mjs';
import { start } from '../lib/server.mjs';
import { RawWatcher } from '../lib/wire.mjs';

/** Far more than it takes: this says only that it does not hang. */
const STOP_MS = 20000;

/** @param {import('../lib/game.mjs').Game} game */
export async function restart(game) {
  const { ada, bo, ids } = game;
  const before = { epoch: await state(ada, 'epoch'), port: game.server.port };
  await game.check('the server shuts down cleanly and sends 1001', async () => {
    game.complaints.outage = true;
    const { code, signal, ms } = await game.server.stop();
    assert.deepEqual([code, signal], [0, null], game.server.log());
    assert.ok(ms < STOP_MS, `${ms} ms`);
    assert.equal(await game.wire.closed, 1001);
    return `${Math.round(ms)} ms`;
  });
  await game.check('both pages show that the line is lost and what they do about it', async () => {
    for (const page of [ada, bo]) {
      await page.locator('#status').waitFor({ state: 'visible' });
      await page.locator('#status-text', { hasText: /Connection lost|Reconnecting/ }).waitFor();
    }
    await sleep(1200);
    await keep(ada, 'lost');
  });
  await game.check('both come back into play by themselves, under the same names', async () => {
    const from = performance.now();
    game.server = await start(before.port, FLAGS);
    await Promise.all([ada, bo].map((page) => until(page, (epoch) => window.tickwire.state === 'live'
      && window.tickwire.epoch !== epoch && window.tickwire.own !== null, before.epoch, 20000)));
    game.complaints.outage = false;
    const back = performance.now() - from;
    await game.readIds();
    await until(bo, (id) => window.tickwire.players[id]?.name === 'Ada', ids.ada);
    await until(ada, (id) => window.tickwire.players[id]?.name === 'Bo', ids.bo);
    assert.equal((await state(bo, 'players'))[ids.ada].skin, 8);
    return `${Math.round(back)} ms from the start of the server, ${game.complaints.refused} tries refused`;
  });
  await game.check('after the restart one walks again and the wire confirms it', async () => {
    game.wire = new RawWatcher(game.server.port);
    await game.wire.ready;
    game.wire.follow(ids.ada);
    await walk(ada, ['d', 's', 'a', 'w'], 60);
    const note = await game.positions();
    await keep(ada, 'back');
    game.wire.close();
    return note;
  });
}
