// The game of examples/pong.rs: two pages play a rally with real keys, a third watches, and the inspector knows the packets by name.
// `node pong.mjs [path of the program]`.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { until } from './lib/browser.mjs';
import { DESKTOP, Game } from './lib/game.mjs';
import { start } from './lib/server.mjs';

process.env.TICKWIRE_BIN = process.argv[2] ?? fileURLToPath(new URL('../../target/debug/examples/pong', import.meta.url));
process.argv.length = 2;

const game = await new Game().open();
const { ada, bo } = game;
const cy = await game.page('cy', { viewport: DESKTOP });
/** Keys that are held, by page. */
const held = new Map();

/** @param {import('playwright-core').Page} page @param {string} name */
async function enter(page, name) {
  await page.goto(game.server.url);
  await page.fill('#name', name);
  await page.click('#join button');
  await until(page, () => window.game.player !== null);
}

/** Moves a paddle towards the ball, as a player with two keys does. @param {import('playwright-core').Page} page @param {string} side */
async function follow(page, side) {
  const off = await page.evaluate((own) => {
    const state = window.game.newest('state');
    return state.ball_y - state[`${own}_y`];
  }, side);
  const key = off < -12 ? 'w' : off > 12 ? 's' : null;
  const before = held.get(page) ?? null;
  if (key === before) return;
  if (before) await page.keyboard.up(before);
  if (key) await page.keyboard.down(key);
  held.set(page, key);
}

/** How often a paddle has sent the ball back, as a page was told. @param {import('playwright-core').Page} page */
const hits = (page) => page.evaluate(() => window.hits);

await game.check('a page of whoever comes first watches, and two enter', async () => {
  await cy.goto(game.server.url);
  await until(cy, () => window.game?.newest('state') && document.getElementById('left').textContent === 'free');
  await cy.evaluate(() => {
    Object.assign(window, { hits: { left: 0, right: 0 }, before: null, way: 0 });
    window.game.on('state', (state) => {
      const way = Math.sign(state.ball_x - (window.before ?? state.ball_x));
      if (way !== 0 && window.way === -way && Math.abs(state.ball_x - 400) > 300) window.hits[way > 0 ? 'left' : 'right'] += 1;
      [window.before, window.way] = [state.ball_x, way || window.way];
    });
  });
  await enter(ada, 'Ada');
  await enter(bo, 'Bo');
  await until(cy, () => document.getElementById('left').textContent === 'Ada' && document.getElementById('right').textContent === 'Bo');
});

await game.check('both play a rally with their keys, and the third sees every stroke', async () => {
  const deadline = performance.now() + 60_000;
  let seen = { left: 0, right: 0 };
  while (seen.left < 2 || seen.right < 2) {
    await Promise.all([follow(ada, 'left'), follow(bo, 'right')]);
    seen = await hits(cy);
    assert.ok(performance.now() < deadline, `strokes: ${JSON.stringify(seen)}`);
  }
  return `${seen.left} and ${seen.right} strokes`;
});

await game.check('a point is counted in every page when a player does not move', async () => {
  for (const [page, key] of held) if (key) await page.keyboard.up(key);
  await ada.keyboard.down('w');
  await until(cy, () => document.getElementById('score').textContent !== '0 : 0', undefined, 60_000);
  await ada.keyboard.up('w');
  // A further point may be counted between two reads.
  let scores = [];
  for (let again = 0; again < 100 && new Set(scores).size !== 1; again += 1) scores = await Promise.all([ada, bo, cy].map((page) => page.textContent('#score')));
  assert.equal(new Set(scores).size, 1, scores.join(' and '));
  return scores[0];
});

await game.check('a player who leaves makes room for the one who watches', async () => {
  // Otherwise its player waits for the page to come back.
  await ada.evaluate(() => window.game.close());
  await ada.goto('about:blank');
  await cy.waitForSelector('#join:not([hidden])');
  await cy.fill('#name', 'Cy');
  await cy.click('#join button');
  await until(bo, () => document.getElementById('left').textContent === 'Cy' && document.getElementById('score').textContent === '0 : 0');
});

await game.check('the inspector names the packets of the game', async () => {
  await ada.goto(`${game.server.url}/wire`);
  const names = () => ada.locator('#list li').evaluateAll((all) => all.map((line) => line.querySelector('.name').firstChild?.textContent));
  await ada.waitForFunction(() => [...document.querySelectorAll('#list li')].some((line) => line.querySelector('.name').firstChild?.textContent?.startsWith('state')));
  assert.ok((await names()).some((name) => name.startsWith('state')), (await names()).join());
});

await game.check('pages at ?room=any fill a room of two, and the address of one leads back to it', async () => {
  const server = await start(0, ['--rooms-on-demand', '4']);
  try {
    const pages = await Promise.all(['di', 'ed', 'flo'].map((who) => game.page(who, { viewport: DESKTOP })));
    const rooms = [];
    for (const page of pages) {
      await page.goto(`${server.url}/?room=any&where=max_players:2`);
      await until(page, () => window.game?.room.name !== undefined && window.game.room.name !== null);
      rooms.push(new URL(page.url()).pathname);
      assert.equal(await page.evaluate(() => window.game.room.link), page.url());
    }
    assert.deepEqual(rooms.slice(0, 2), ['/', '/'], 'the default room is the first');
    assert.match(rooms[2], /^\/r\/room-[a-z2-9]{8}\/$/);
    await pages[2].reload();
    await until(pages[2], () => window.game?.state === 'open');
    const friend = await game.page('gus', { viewport: DESKTOP });
    await friend.goto(pages[2].url());
    await until(friend, () => window.game?.state === 'open');
    const { rooms: list } = await (await friend.request.get(`${server.url}/rooms?format=json`)).json();
    assert.deepEqual(list.map(({ path, clients }) => [path, clients]), [['/', 2], [rooms[2], 2]]);
    await Promise.all([...pages, friend].map((page) => page.goto('about:blank')));
    return rooms[2];
  } finally {
    await server.stop();
  }
});

await game.browser.close();
const { code } = await game.server.stop();
assert.equal(code, 0);
assert.deepEqual(game.complaints.list, []);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exit(game.failed === 0 ? 0 : 1);
