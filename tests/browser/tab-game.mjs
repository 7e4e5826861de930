// Other games in the tab edition, from a plain static server: pong, a program of its own, and tanks. Each is played with a real key by its own page,
// against the bots in the tab, and the inspector beside it names its packets. `node tab-game.mjs [pong|tanks]`; screenshots go to tests/output/.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Complaints, keep, launch, limit, until } from './lib/browser.mjs';
import { serve, tabEdition } from './lib/static.mjs';
import { checkGame } from '../wasm/games.mjs';

const GAMES = {
  pong: {
    options: ['--example', 'pong'],
    enter: async (frame) => {
      await frame.fill('#name', 'Ada');
      await frame.click('#join button');
    },
    key: 'w',
    /** The own paddle, and where it was. */
    place: () => {
      const state = window.game.newest('state');
      const side = ['left', 'right'].find((one) => state?.[one] !== null && state?.[one] === window.game.player);
      return side ? state[`${side}_y`] : null;
    },
  },
  tanks: {
    options: ['--game', 'tanks'],
    enter: async (frame) => {
      await frame.fill('#name', 'Ada');
      await frame.click('#join button');
    },
    key: 'w',
    place: () => {
      const own = window.game.newest('state')?.tanks.find((tank) => tank.player === window.game.player);
      return own && own.health > 0 ? own.x * 10_000 + own.y : null;
    },
  },
};

const names = process.argv[2] ? [process.argv[2]] : Object.keys(GAMES);
const folders = new Map(names.map((name) => [name, tabEdition(['--rough', ...GAMES[name].options])]));
limit(300);
const browser = await launch();
let failed = 0;
for (const [name, folder] of folders) {
  const { enter, key, place } = GAMES[name];
  const site = await serve(folder);
  const complaints = new Complaints();
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  complaints.watch(page, name);
  try {
    await page.goto(site.url);
    await page.locator('#status', { hasText: 'runs in this tab' }).waitFor({ timeout: 60_000 });
    // The frame is there from the beginning; its page comes when the server runs.
    const frame = await (await page.locator('#game').elementHandle())?.contentFrame();
    assert.ok(frame, 'the page of the game');
    await until(frame, () => window.game?.newest('state'));
    await enter(frame);
    await until(frame, () => window.game.player !== null);
    const before = await frame.waitForFunction(place, undefined, { timeout: 30_000 }).then((handle) => handle.jsonValue());
    await page.keyboard.down(key);
    await frame.waitForFunction(`(${place})() !== ${before} && (${place})() !== null`, undefined, { timeout: 30_000 });
    await page.keyboard.up(key);
    await page.click('#see');
    const inside = page.frameLocator('#wire');
    await inside.locator('#list li', { hasText: /state/ }).first().waitFor({ timeout: 30_000 });
    const [left, right] = await Promise.all(['#game', '#wire'].map((id) => page.locator(id).boundingBox()));
    assert.ok(left && right && left.x + left.width <= right.x + 1 && right.width > 400, JSON.stringify([left, right]));
    await keep(page, `tab-game-${name}`);
    assert.deepEqual(complaints.list, []);
    const { exports } = (await WebAssembly.instantiate(readFileSync(join(folder, 'wasm/tickwire.wasm')), {})).instance;
    exports.main?.(0, 0);
    const { ticks, checksums } = checkGame(exports, name);
    console.log(`ok ${name}: played with a key, its packets are named, and ${checksums} checksums of ${ticks} ticks are those of the native build`);
  } catch (error) {
    failed += 1;
    await keep(page, `tab-game-${name}`);
    console.log(`FAILED ${name}: ${error.stack}\n${complaints.list.join('\n')}`);
  }
  await page.close();
  await site.cut();
}
await browser.close();
process.exit(failed === 0 ? 0 : 1);
