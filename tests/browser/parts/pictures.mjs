// Screenshots to judge by: a crowd of bots that play, as a large desktop, a small one and phones show it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, until } from '../lib/browser.mjs';
import { binary } from '../lib/server.mjs';

const BOTS = 60;
const SIZES = Object.freeze({
  'crowd-1920': { viewport: { width: 1920, height: 1080 } },
  'crowd-1366': { viewport: { width: 1366, height: 768 } },
  'crowd-phone': { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
  'crowd-phone-wide': { viewport: { width: 844, height: 390 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
});

/** @param {import('../lib/game.mjs').Game} game */
export async function pictures(game) {
  await game.check(`${BOTS} bots play beside the pages, and every size of window shows them`, async () => {
    const herd = spawn(binary(), ['bots', game.server.url.replace('http', 'ws'), '--count', String(BOTS), '--seconds', '60', '--play'], { stdio: 'ignore' });
    const ended = once(herd, 'exit');
    try {
      await until(game.ada, (count) => window.tickwire.leaderboard.players >= count, BOTS, 20000);
      for (const [name, options] of Object.entries(SIZES)) {
        const page = await game.page(name, options);
        await page.goto(game.server.url);
        await until(page, () => window.tickwire.state === 'live');
        await page.locator('#play').click();
        await until(page, () => window.tickwire.own !== null && Object.keys(window.tickwire.players).length > 1);
        await sleep(700);
        await keep(page, name);
        await page.context().close();
      }
    } finally {
      herd.kill('SIGKILL');
      await ended;
    }
  });
}
