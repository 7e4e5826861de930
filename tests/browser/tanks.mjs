// The game tanks through a whole round: two pages play with real keys and the mouse, a phone with two thumbs.
// `node tanks.mjs [path of the program]`.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { keep, until } from './lib/browser.mjs';
import { DESKTOP, Game } from './lib/game.mjs';

process.env.TICKWIRE_BIN = process.argv[2] ?? fileURLToPath(new URL('../../target/debug/tickwire', import.meta.url));
process.argv.length = 2;

const game = await new Game().open(['--game', 'tanks,round=30']);
const { ada, bo } = game;
const phone = await game.page('phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

/** @param {import('playwright-core').Page} page @param {string} name */
async function enter(page, name) {
  await page.goto(game.server.url);
  await page.waitForSelector('#join:not([hidden])');
  await page.fill('#name', name);
  await page.click('#join button');
  await until(page, () => window.ownTank() !== null);
}

for (const page of [ada, bo, phone]) {
  await page.addInitScript(() => {
    window.ownTank = () => window.game?.newest('state')?.tanks.find(({ player }) => player === window.game.player) ?? null;
  });
}
const own = (page) => page.evaluate(() => window.ownTank());

await game.check('three enter, and every page lists them', async () => {
  await enter(ada, 'Ada');
  await enter(bo, 'Bo');
  await enter(phone, 'Cy');
  for (const page of [ada, bo, phone]) {
    await until(page, () => ['Ada', 'Bo', 'Cy'].every((name) => document.getElementById('scores').textContent.includes(name)));
  }
});

await game.check('keys turn the hull and drive, the mouse aims, and a shell flies in every page', async () => {
  const before = await own(ada);
  await ada.keyboard.down('d');
  await until(ada, (hull) => window.ownTank().hull !== hull, before.hull);
  await ada.keyboard.up('d');
  for (const key of ['w', 's']) {
    await ada.keyboard.down(key);
    const moved = ({ x, y }) => Math.hypot(window.ownTank().x - x, window.ownTank().y - y) > 4;
    await until(ada, moved, await own(ada));
    await ada.keyboard.up(key);
  }
  await bo.evaluate(() => {
    window.flown = 0;
    window.game.on('state', ({ shells }) => { window.flown = Math.max(window.flown, shells.length); });
  });
  await ada.mouse.move(DESKTOP.width - 100, DESKTOP.height / 2);
  await until(ada, () => Math.min(window.ownTank().turret, 65536 - window.ownTank().turret) < 600);
  await ada.mouse.down();
  await until(ada, () => document.getElementById('regular').textContent === 'Regular 39');
  await ada.mouse.up();
  await until(bo, () => window.flown > 0);
  await ada.keyboard.press('e');
  await until(ada, () => document.getElementById('piercing').classList.contains('chosen'));
  await keep(ada, 'tanks');
});

await game.check('on a phone, the left thumb drives and the right thumb aims and fires', async () => {
  const before = await own(phone);
  const session = await phone.context().newCDPSession(phone);
  const touch = (type, touchPoints) => session.send('Input.dispatchTouchEvent', { type, touchPoints });
  await touch('touchStart', [{ x: 90, y: 600, id: 0 }, { x: 300, y: 600, id: 1 }]);
  await touch('touchMove', [{ x: 90, y: 550, id: 0 }, { x: 340, y: 600, id: 1 }]);
  await until(phone, ({ x, y, hull }) => {
    const tank = window.ownTank();
    return (tank.hull !== hull || tank.x !== x || tank.y !== y) && tank.shells < 40;
  }, before);
  await keep(phone, 'tanks-phone');
  await touch('touchEnd', []);
});

await game.check('nothing covers anything else, in four sizes', async () => {
  for (const [width, height] of [[1440, 900], [1280, 720], [390, 844], [844, 390]]) {
    const page = width < 1000 ? phone : bo;
    await page.setViewportSize({ width, height });
    const boxes = [];
    for (const id of ['scores', 'clock', 'own', ...(page === phone ? ['kind'] : [])]) {
      const box = await page.locator(`#${id}`).boundingBox();
      assert.ok(box, `${id} is shown at ${width} × ${height}`);
      assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${id} at ${width} × ${height}`);
      for (const [other, at] of boxes) {
        const apart = box.x >= at.x + at.width || at.x >= box.x + box.width || box.y >= at.y + at.height || at.y >= box.y + box.height;
        assert.ok(apart, `${id} covers ${other} at ${width} × ${height}`);
      }
      boxes.push([id, box]);
    }
  }
});

await game.check('the round ends with its winner or without one, and the next one begins without points', async () => {
  await until(bo, () => /(wins?|Nobody wins) the round.* The next one begins in \d+ s\./.test(document.getElementById('say').textContent), undefined, 60_000);
  await until(bo, () => window.game.newest('state').round === 2 && !window.game.newest('state').over, undefined, 30_000);
  await until(bo, () => window.game.newest('roster').players.every(({ score, lost }) => score === 0 && lost === 0));
  for (const page of [ada, bo, phone]) await until(page, () => window.ownTank()?.shells === 40 && window.ownTank().health === 100);
});

await game.check('the inspector names the packets of the game', async () => {
  await ada.goto(`${game.server.url}/wire`);
  await ada.waitForFunction(() => [...document.querySelectorAll('#list li')].some((line) => line.children[3]?.textContent.startsWith('state')));
});

await game.browser.close();
const { code } = await game.server.stop();
assert.equal(code, 0);
assert.deepEqual(game.complaints.list, []);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exit(game.failed === 0 ? 0 : 1);
