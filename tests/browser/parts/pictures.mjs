// Screenshots to judge by: the first day of a small world, its snow, and then a crowd of bots that play in it, as a large
// desktop, a small one and phones show it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until, watchFor } from '../lib/browser.mjs';
import { DESKTOP, Walker, alive } from '../lib/game.mjs';
import { binary, start } from '../lib/server.mjs';

const MAP_SIZE = 3600;
const BOTS = 60;
/** Deep in the snow of that map, px. */
const NORTH = 380;
const SIZES = Object.freeze({
  'crowd-1920': { viewport: { width: 1920, height: 1080 } },
  'crowd-1366': { viewport: { width: 1366, height: 768 } },
  'crowd-phone': { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
  'crowd-phone-wide': { viewport: { width: 844, height: 390 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
});

/** @param {import('../lib/game.mjs').Game} game */
export async function pictures(game) {
  const server = await start(0, ['--map-size', String(MAP_SIZE)]);
  /** Somebody who plays there. */
  const join = async (who, options) => {
    const page = await game.page(who, options);
    await page.goto(server.url);
    await until(page, () => window.tickwire.state === 'live');
    await page.locator('#play').click();
    await until(page, () => window.tickwire.own !== null);
    return page;
  };
  try {
    await game.check('one is alone on the first day, and walks into the snow', async () => {
      const page = await join('alone', { viewport: DESKTOP });
      await sleep(500);
      await keep(page, 'alone');
      // It is told once, on the way; on which one may die a few times.
      const told = watchFor(page, () => document.querySelector('#status-text').textContent.includes('Snow slows you down'), null, 240000);
      await goNorth(page);
      await told;
      await keep(page, 'snow');
      await page.context().close();
    });
    await game.check(`${BOTS} bots play, and every size of window shows them`, async () => {
      // They stay until they are ended below.
      const herd = spawn(binary(), ['bots', server.url.replace('http', 'ws'), '--count', String(BOTS), '--seconds', '900', '--play'], { stdio: 'ignore' });
      const ended = once(herd, 'exit');
      try {
        for (const [name, options] of Object.entries(SIZES)) {
          const page = await join(name, options);
          await until(page, (count) => window.tickwire.leaderboard.players >= count && Object.keys(window.tickwire.players).length > 3, BOTS, 60000);
          await sleep(600);
          await keep(page, name);
          await page.context().close();
        }
      } finally {
        herd.kill('SIGKILL');
        await ended;
      }
    });
  } finally {
    await server.stop();
  }
}

/** Walks into the snow; whom a wolf gets on the way plays again. */
const goNorth = (page) => alive([page], () => new Walker(page).to(async () => ({ x: (await state(page, 'own')).x, y: NORTH }), 120));
