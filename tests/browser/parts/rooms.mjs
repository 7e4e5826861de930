// Rooms: their list, the game's page of one, the page of one that is not there, and the operator's choice, in four sizes. The server is
// one of its own, because it has rooms.

import assert from 'node:assert/strict';
import { Complaints, until } from '../lib/browser.mjs';
import { FLAGS } from '../lib/game.mjs';
import { start } from '../lib/server.mjs';

const SIZES = [[1440, 900], [1280, 720], [390, 844], [844, 390]];
const LONG = 'a-room-with-a-name-of-32-letters';

/** @param {import('../lib/game.mjs').Game} game */
export async function rooms(game) {
  const server = await start(0, [...FLAGS, '--room', 'arena', '--room', LONG]);
  // The page of a room that is not there answers 404, of which a browser complains.
  const page = await (await game.browser.newContext()).newPage();
  const complaints = new Complaints();
  complaints.watch(page, 'rooms');
  try {
    await game.check('the list of rooms leads to each, and the card of the game names the room', async () => {
      await page.goto(`${server.url}/rooms`);
      await page.getByRole('link', { name: 'arena' }).click();
      await until(page, () => window.tickwire?.state === 'live');
      assert.equal(new URL(page.url()).pathname, '/r/arena/');
      assert.equal(await page.locator('#title-room-name').innerText(), 'arena');
      assert.equal(await page.title(), 'tickwire · arena');
      await page.locator('#play').click();
      await until(page, () => window.tickwire.id !== null);
      await page.goto(`${server.url}/rooms`);
      await page.getByRole('link', { name: 'Default room' }).click();
      await until(page, () => window.tickwire?.state === 'live');
      assert.equal(await page.locator('#title-room').isVisible(), false);
    });
    await game.check('the pages of rooms fit in four sizes', async () => {
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height });
        for (const path of ['rooms', `r/${LONG}/`, 'r/arena/wire']) {
          await page.goto(`${server.url}/${path}`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${path} at ${width} × ${height} is ${wide} wide`);
        }
        await page.goto(`${server.url}/r/${LONG}/`);
        const [card, play] = await Promise.all(['#title-form', '#play'].map((part) => page.locator(part).boundingBox()));
        assert.ok(card && play && card.y >= 0 && play.y + play.height <= height, `Play is on the screen at ${width} × ${height}`);
      }
    });
    await game.check('the operator\'s page shows the room that is chosen', async () => {
      await page.goto(/http:\S+\/admin#\S+/.exec(server.log())?.[0] ?? '');
      await page.locator('#room').selectOption('arena');
      await page.locator('#say').fill('to this room');
      await page.getByRole('button', { name: 'Say', exact: true }).click();
      await page.locator('#log', { hasText: 'room arena say to this room' }).waitFor();
      await page.locator('#log .answer', { hasText: 'said' }).waitFor();
      assert.equal(await page.locator('#say-title').innerText(), 'Tell everyone in arena');
    });
    await game.check('no complaint of the pages of rooms', () => {
      // A page that is left does not wait for its last files.
      assert.deepEqual(complaints.list.filter((complaint) => !complaint.includes('net::ERR_ABORTED')), []);
    });
    await game.check('a room that is not there leads to the list', async () => {
      const response = await page.goto(`${server.url}/r/nowhere/`);
      assert.equal(response?.status(), 404);
      await page.getByRole('link', { name: 'list of rooms' }).click();
      assert.equal(new URL(page.url()).pathname, '/rooms');
    });
  } finally {
    await page.context().close();
    await server.stop();
  }
}
