// The game of examples/kites.rs: two pages fly their own kites, each sees the other's, and the server refuses what is against its rules.
// `node kites.mjs [path of the program]`.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { keep, until } from './lib/browser.mjs';
import { Game } from './lib/game.mjs';

process.env.TICKWIRE_BIN = process.argv[2] ?? fileURLToPath(new URL('../../target/debug/examples/kites', import.meta.url));
process.argv.length = 2;

const game = await new Game().open();
const { ada, bo } = game;
const phone = await game.page('phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

/** Kites of a page's player, as the server has them. @param {import('playwright-core').Page} page */
const mine = (page) => page.evaluate(() => window.game.newest('state').kites.filter(({ id }) => id >>> 16 === window.game.player));
/** Reasons at which the page counts refusals. @param {import('playwright-core').Page} page */
const refused = (page) => page.$$eval('#log b', (all) => all.map((one) => one.textContent.split(' ')[0]));
/** The first kite of the page, as the page flies it. @param {import('playwright-core').Page} page */
const flown = (page) => page.evaluate(() => [...window.own.values()][0]);

await game.check('each page flies a kite, and the others see it where it is', async () => {
  for (const [page, name] of [[ada, 'Ada'], [bo, 'Bo'], [phone, 'Cy']]) await page.goto(`${game.server.url}/?name=${name}`);
  for (const page of [ada, bo, phone]) await until(page, () => window.own?.size === 1 && window.game.newest('state').kites.length === 3);
  await ada.evaluate(() => Object.assign(window.hand, { x: 250, y: 420 }));
  await bo.evaluate(() => Object.assign(window.hand, { x: 700, y: 420 }));
  await sleep(4000);
  // Read at about the same moment, while both fly on.
  const [kite, seen] = await Promise.all([flown(ada), bo.evaluate(() => window.game.interpolated('state').kites.filter(({ id }) => id >>> 16 !== window.game.player))]);
  const off = Math.min(...seen.map(({ x, y }) => Math.hypot(x - kite.x, y - kite.y)));
  assert.ok(kite.y < 500 && off < 60, `${off} px off, at ${kite.x}, ${kite.y}`);
  // A machine that is too busy holds back more reports than are accepted at once.
  assert.deepEqual((await refused(ada)).filter((reason) => reason !== 'too_soon'), [], 'nothing is refused to a page that flies');
  return `${Math.round(off)} px off`;
});

await game.check('pictures on three screens', async () => {
  for (let tries = 0; tries < 20 && (await mine(ada)).length < 3; tries++) {
    await ada.evaluate(() => document.getElementById('more').click());
    await sleep(1200);
  }
  assert.equal((await mine(ada)).length, 3);
  await phone.locator('#jump').tap();
  for (const [width, height] of [[1440, 900], [1280, 720]]) {
    await ada.setViewportSize({ width, height });
    await sleep(500);
    const { bottom, right } = await ada.$eval('canvas', (one) => one.getBoundingClientRect());
    assert.ok(bottom <= height && right <= width, `${right} x ${bottom}`);
    await keep(ada, `kites-${width}`);
  }
  await keep(phone, 'kites-390');
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= 390), 'nothing is cut off');
});

await game.check('each cheat is refused by its rule, and the kite is back where the server has it', async () => {
  for (const [button, reason] of [['out', 'out_of_bounds'], ['other', 'not_yours'], ['many', 'too_many'], ['often', 'too_soon'], ['jump', 'too_fast']]) {
    const before = await mine(ada);
    await ada.click(`#${button}`);
    await until(ada, (rule) => document.querySelector('#log b')?.textContent.startsWith(rule), reason, 10_000)
      .catch(async () => assert.fail(`${button}: ${await refused(ada)}`));
    if (button !== 'jump') continue;
    await until(ada, ([x, y]) => Math.hypot([...window.own.values()][0].x - x, [...window.own.values()][0].y - y) < 150, [before[0].x, before[0].y]);
  }
  await keep(ada, 'kites-refused');
  assert.equal((await mine(ada)).length, 3);
  return (await refused(ada)).join(', ');
});

await game.check('kites wait for a page that is reloaded, and fly on', async () => {
  const ids = (await mine(ada)).map(({ id }) => id);
  await ada.reload();
  await until(ada, (all) => window.own?.size === all.length && all.every((id) => window.own.has(id)), ids);
  const before = await mine(ada);
  await ada.evaluate(() => Object.assign(window.hand, { x: 600, y: 300 }));
  await until(ada, (x) => Math.abs(window.game.newest('state').kites.find(({ id }) => id >>> 16 === window.game.player).x - x) > 60, before[0].x);
});

await game.check('a star is for the kite that the server has there', async () => {
  const score = () => ada.evaluate(() => window.game.newest('state').flyers.find(({ player }) => player === window.game.player).score);
  const before = await score();
  await until(ada, (had) => {
    const star = window.game.newest('state').stars[0];
    const kite = [...window.own.values()][0];
    // The hand leads the kite, which hangs above it.
    Object.assign(window.hand, { x: window.hand.x + (star.x - kite.x) * 0.05, y: window.hand.y + (star.y - kite.y) * 0.05 });
    return window.game.newest('state').flyers.some(({ player, score }) => player === window.game.player && score > had);
  }, before);
});

await game.browser.close();
const { code } = await game.server.stop();
assert.equal(code, 0);
assert.deepEqual(game.complaints.list, []);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exit(game.failed === 0 ? 0 : 1);
