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

/** The scene must be met in this time, ms. */
const PATIENCE_MS = 180_000;
/** Interval of the steering, ms. */
const STEER_MS = 120;

/**
 * Drives towards the nearest tank, aims at it and fires, until it and a shell are in view.
 * @param {import('playwright-core').Page} page
 */
async function fight(page) {
  await page.keyboard.down('w');
  await page.mouse.down();
  let turned = '';
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await page.waitForTimeout(STEER_MS)) {
    const scene = await page.evaluate(() => {
      const { tanks, shells } = window.game.newest('state');
      const own = tanks.find(({ player }) => player === window.game.player);
      if (!own?.health) return null;
      const { camera } = window;
      // Positions of the state are in half pixels.
      const placed = ({ x, y }) => ({ left: (x / 2 - camera.x) * camera.scale + innerWidth / 2, top: (y / 2 - camera.y) * camera.scale + innerHeight / 2 });
      const isInView = ({ left, top }) => left > 0.12 * innerWidth && left < 0.88 * innerWidth && top > 0.15 * innerHeight && top < 0.8 * innerHeight;
      const distance = (one) => Math.hypot(one.x - own.x, one.y - own.y);
      const [nearest] = tanks.filter((tank) => tank !== own && tank.health > 0).sort((one, other) => distance(one) - distance(other));
      if (!nearest) return null;
      const wanted = Math.atan2(nearest.y - own.y, nearest.x - own.x) - own.hull / 256 * 2 * Math.PI;
      return {
        target: placed(nearest),
        turn: Math.atan2(Math.sin(wanted), Math.cos(wanted)),
        isMet: distance(nearest) > 120 && isInView(placed(nearest)) && shells.some((shell) => isInView(placed(shell)) && distance(shell) > 60),
      };
    });
    if (scene?.isMet) return;
    if (!scene) continue;
    const { width, height } = page.viewportSize();
    await page.mouse.move(Math.min(Math.max(scene.target.left, 5), width - 5), Math.min(Math.max(scene.target.top, 5), height - 5));
    const key = Math.abs(scene.turn) < 0.2 ? '' : scene.turn > 0 ? 'd' : 'a';
    if (key === turned) continue;
    if (turned !== '') await page.keyboard.up(turned);
    if (key !== '') await page.keyboard.down(key);
    turned = key;
  }
  throw new Error('no tank and no shell came into view');
}

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
    await fight(page);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await page.close();
  }
} finally {
  herd.kill('SIGKILL');
  await ended;
  await browser.close();
  await server.stop();
}
