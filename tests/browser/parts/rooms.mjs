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
  const server = await start(0, [...FLAGS, '--room', 'arena', '--room', LONG, '--rooms-on-demand', '4']);
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
        // The card moves while its last texts and styles arrive.
        const fits = until(page, () => {
          const [card, play] = ['#title-form', '#play'].map((part) => document.querySelector(part)?.getBoundingClientRect());
          return card?.height > 0 && card.top >= 0 && play.bottom <= innerHeight;
        });
        await assert.doesNotReject(fits, `Play is on the screen at ${width} × ${height}`);
      }
    });
    await game.check('the operator\'s page shows the room that is chosen', async () => {
      await page.goto(/http:\S+\/admin#\S+/.exec(server.log())?.[0] ?? '');
      await page.locator('#room').selectOption('arena');
      await page.locator('#announce').fill('to this room');
      await page.getByRole('button', { name: 'Announce', exact: true }).click();
      await page.locator('#log', { hasText: 'room arena announce to this room' }).waitFor();
      await page.locator('#log .answer', { hasText: 'announced' }).waitFor();
      assert.equal(await page.locator('#announce-title').innerText(), 'Tell everyone in arena');
    });
    await anyRoom(game, server.url, page, complaints);
    await friends(game, server.url, page, complaints);
    await game.check('no complaint of the pages of rooms', () => {
      // A page that is left does not wait for its last files.
      assert.deepEqual(complaints.list.filter((complaint) => !complaint.includes('net::ERR_ABORTED')), []);
    });
    await game.check('a room that is not there leads to the list', async () => {
      const response = await page.goto(`${server.url}/r/Nowhere/`);
      assert.equal(response?.status(), 404);
      await page.getByRole('link', { name: 'list of rooms' }).click();
      assert.equal(new URL(page.url()).pathname, '/rooms');
    });
  } finally {
    await page.context().close();
    await server.stop();
  }
}

/**
 * A page at `?room=any`, while another page is in a room.
 * @param {import('../lib/game.mjs').Game} game @param {string} url @param {import('playwright-core').Page} page @param {Complaints} complaints
 */
async function anyRoom(game, url, page, complaints) {
  await game.check('?room=any leads to the fullest room, whose name the page shows and whose link it copies', async () => {
    await page.goto(`${url}/r/arena/`);
    await until(page, () => window.tickwire?.state === 'live');
    const other = await page.context().newPage();
    complaints.watch(other, 'any');
    await other.goto(`${url}/?room=any`);
    await other.waitForURL(`${url}/r/arena/`);
    assert.equal(await other.locator('#title-room-name').innerText(), 'arena');
    await other.locator('#play').click();
    await until(other, () => window.tickwire.id !== null);
    await other.locator('#settings-button').click();
    await other.locator('#s-invite').click();
    await other.locator('#status-text', { hasText: 'Invite link copied' }).waitFor();
    await other.close();
  });
}

/**
 * A private room, made by a button and entered by its link.
 * @param {import('../lib/game.mjs').Game} game @param {string} url @param {import('playwright-core').Page} page @param {Complaints} complaints
 */
async function friends(game, url, page, complaints) {
  await game.check('Play with friends makes a private room, whose link brings a second page into it', async () => {
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.goto(`${url}/`);
    await page.locator('#friends-make').click();
    await page.waitForURL(/\/r\/p-[a-z2-7]{24}\/$/);
    await until(page, () => window.tickwire?.state === 'live');
    assert.match(await page.locator('#title-room').innerText(), /^Private room/);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('#invite-copy').click();
    await page.locator('#invite-status', { hasText: 'The link was copied.' }).waitFor({ state: 'attached' });
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, page.url());
    await page.locator('#play').click();
    await until(page, () => window.tickwire.id !== null);
    const friend = await page.context().newPage();
    complaints.watch(friend, 'friend');
    await friend.goto(link);
    await friend.locator('#title-count', { hasText: '1 playing now' }).waitFor();
    await friend.locator('#play').click();
    await until(friend, () => window.tickwire.id === 2);
    await page.locator('#settings-button').click();
    await page.locator('#s-invite').click();
    await page.locator('#status-text', { hasText: 'Invite link copied' }).waitFor();
    const list = await (await page.request.get(`${url}/rooms?format=json`)).json();
    assert.deepEqual(list.rooms.map(({ name }) => name), ['', LONG, 'arena'], 'no list shows it');
    await friend.close();
  });
  await game.check('the card with the button, and with the link, fits in four sizes', async () => {
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      for (const [path, part] of [['', '#friends-make'], [`r/p-${'a'.repeat(24)}/`, '#invite-copy']]) {
        await page.goto(`${url}/${path}`);
        await page.locator(part).waitFor();
        const [card, box] = await Promise.all(['#title-form', part].map((one) => page.locator(one).boundingBox()));
        assert.ok(card && box && card.y >= 0 && card.y + card.height <= height, `the card is on the screen at ${width} × ${height}`);
        assert.ok(box.x >= card.x && box.x + box.width <= card.x + card.width, `${part} is on the card at ${width} × ${height}`);
      }
    }
  });
}
