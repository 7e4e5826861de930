// A page of a phone's size, played by touch alone, in a small world of its own: no animal lives there, so none hunts who plays with two
// thumbs.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, settled, state, until } from '../lib/browser.mjs';
import { near, rest } from '../lib/game.mjs';
import { start } from '../lib/server.mjs';

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };
const LEFT = { x: 110, y: 640, id: 1 };
const RIGHT = { x: 300, y: 640, id: 2 };

/** @param {import('../lib/game.mjs').Game} game */
export async function phone(game) {
  const server = await start(0, ['--map-size', '1440']);
  const page = await game.page('phone', PHONE);
  const session = await page.context().newCDPSession(page);
  /** Thumbs on the glass: `touchEnd` lifts those that are listed, or all of them. */
  const touch = (type, ...touchPoints) => session.send('Input.dispatchTouchEvent', { type, touchPoints });
  const below = { ...LEFT, y: LEFT.y + 60 };
  const swings = () => page.evaluate(() => window.tickwire.players[window.tickwire.id].swings);
  await game.check('a phone joins by touch and walks by a thumb', async () => {
    await page.goto(server.url);
    await page.locator('#play:enabled').waitFor();
    await keep(page, 'phone-title');
    await page.locator('#play').tap();
    await until(page, () => window.tickwire.own !== null);
    await touch('touchStart', LEFT);
    await touch('touchMove', below);
    await until(page, () => window.tickwire.own.direction === 16384);
    await keep(page, 'phone');
  });
  await game.check('a second thumb strikes while the first one walks, and a pull turns the blow', async () => {
    await touch('touchStart', below, RIGHT);
    await until(page, () => window.tickwire.players[window.tickwire.id].swings >= 2);
    await touch('touchMove', below, { ...RIGHT, x: RIGHT.x - 60 });
    await until(page, () => Math.abs(window.tickwire.own.heading - Math.PI) < 0.05);
    assert.equal((await state(page, 'own')).direction, 16384, 'still on its way down');
    await sleep(150);
    await keep(page, 'phone-strike');
    return `${await swings()} swings`;
  });
  await game.check('a tap on the bar takes an item into the hand, another one puts it away', async () => {
    await touch('touchEnd', RIGHT);
    const slot = await page.locator('[data-slot="item-3"]').boundingBox();
    const tap = { x: slot.x + slot.width / 2, y: slot.y + slot.height / 2, id: 3 };
    for (const item of [3, null]) {
      await touch('touchStart', below, tap);
      await touch('touchEnd', tap);
      await until(page, (wanted) => window.tickwire.hand.item === wanted, item);
      if (item !== null) await keep(page, 'building-phone');
    }
    assert.equal((await state(page, 'own')).direction, 16384, 'the other thumb walks on');
    await touch('touchStart', below, { ...RIGHT, x: RIGHT.x - 60 });
    await sleep(150);
  });
  await game.check('lifting the thumbs ends both', async () => {
    await touch('touchEnd', RIGHT);
    await settled(swings);
    assert.equal((await state(page, 'own')).direction, 16384, 'the other thumb walks on');
    await touch('touchEnd');
    await rest(page);
    near((await state(page, 'own')).heading, Math.PI, 0.05, 'the heading stays where the blow went');
  });
  await phoneBuilds(game, server, page, touch);
  await page.context().close();
  await server.stop();
}

/** @param {import('../lib/game.mjs').Game} game @param {Awaited<ReturnType<typeof start>>} server @param {import('playwright-core').Page} page @param {(type: string, ...points: any[]) => Promise<any>} touch */
async function phoneBuilds(game, server, page, touch) {
  await game.check('with an item in the hand the right thumb builds it where it looks', async () => {
    server.order(`grant ${await state(page, 'id')} wood 100`);
    await until(page, () => window.tickwire.resources.wood >= 100);
    const slot = await page.locator('[data-slot="item-3"]').boundingBox();
    await touch('touchStart', { x: slot.x + slot.width / 2, y: slot.y + slot.height / 2, id: 3 });
    await touch('touchEnd');
    await until(page, () => window.tickwire.hand.item === 3);
    const owned = () => page.evaluate(() => window.tickwire.structures.filter((one) => one.owner === window.tickwire.id).length);
    for (let turn = 0; turn < 12 && (await owned()) === 0; turn++) {
      // Where the thumb goes down it builds where one looks; a pull turns, so the next try looks elsewhere.
      await touch('touchStart', RIGHT);
      await touch('touchMove', { ...RIGHT, x: RIGHT.x + 60 * Math.cos(turn), y: RIGHT.y + 60 * Math.sin(turn) });
      await sleep(150);
      await touch('touchEnd');
      await sleep(150);
    }
    assert.equal(await owned(), 1);
    await keep(page, 'phone-built');
  });
  await game.check('panels open by a tap and close again, and stay within the glass', async () => {
    for (const name of ['clan', 'settings']) {
      await page.locator(`#${name}-button`).tap();
      await page.locator(`#${name}`).waitFor({ state: 'visible' });
      const box = await page.locator(`#${name}`).boundingBox();
      assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= PHONE.viewport.width && box.y + box.height <= PHONE.viewport.height, JSON.stringify(box));
      await keep(page, `phone-${name}`);
      await page.locator(`#${name}-close`).tap();
      await page.locator(`#${name}`).waitFor({ state: 'hidden' });
    }
  });
}
