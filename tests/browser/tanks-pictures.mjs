// Makes the pictures of docs/tanks.md: a battle among bots, on a desktop and on a phone held sideways.
// `node tanks-pictures.mjs FOLDER`; scripts/pictures.sh runs it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, until } from './lib/browser.mjs';
import { binary, start } from './lib/server.mjs';

const BOTS = 40;
const PAGES = {
  tanks: { viewport: { width: 1280, height: 720 } },
  'tanks-phone': { viewport: { width: 844, height: 390 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

const [folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
process.argv.length = 2;
const server = await start(0, ['--game', 'tanks']);
const herd = spawn(binary(), ['bots', server.url.replace('http', 'ws'), '--count', String(BOTS), '--seconds', '300'], { stdio: 'ignore' });
const ended = once(herd, 'exit');
const browser = await launch();
try {
  for (const [name, options] of Object.entries(PAGES)) {
    const page = await browser.newPage(options);
    await page.goto(server.url);
    await until(page, (bots) => window.game?.newest('state')?.tanks.length >= bots, BOTS, 60_000);
    await page.fill('#name', 'Ann');
    await page.click('#join button');
    await until(page, () => window.game.newest('state').tanks.some(({ player, health }) => player === window.game.player && health > 0), undefined, 60_000);
    // A tank appears far from the others, and points to the middle of the map.
    await page.keyboard.down('w');
    // Another near enough to be seen, and a shell on its way.
    await until(page, () => {
      const { tanks, shells } = window.game.newest('state');
      const own = tanks.find(({ player }) => player === window.game.player);
      const near = ({ x, y }) => Math.abs(x - own.x) < 330 && Math.abs(y - own.y) < 170;
      return own?.health > 0 && tanks.some((tank) => tank !== own && near(tank) && tank.health > 0) && shells.some(near);
    }, undefined, 120_000);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await page.close();
  }
} finally {
  herd.kill('SIGKILL');
  await ended;
  await browser.close();
  await server.stop();
}
