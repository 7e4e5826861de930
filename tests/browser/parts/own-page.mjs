// A page of one's own by `/tickwire.js`: the one of docs/your-own-page.md, behind a proxy, in a room of a server of its own, which stops and
// starts again.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { serveBeside } from '../lib/beside.mjs';
import { Complaints } from '../lib/browser.mjs';
import { DESKTOP, FLAGS } from '../lib/game.mjs';
import { start } from '../lib/server.mjs';

const ROOT = new URL('../../../', import.meta.url);
const DOCUMENT = new URL('docs/your-own-page.md', ROOT);
const ROOM = [...FLAGS, '--room', 'arena'];
/** What the proxy says while the server is away. */
const AWAY = / 502 /;

/** The place that the page shows. @param {import('playwright-core').Page} page */
const placeOf = async (page) => (await page.locator('#place').innerText()).split(', ').map(Number);

/** Holds one key after the other until the page shows another place. @param {import('playwright-core').Page} page */
async function walk(page) {
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp']) {
    const [x, y] = await placeOf(page);
    await page.keyboard.down(key);
    const gone = await page.waitForFunction(([fromX, fromY]) => {
      const [toX, toY] = document.getElementById('place').textContent.split(', ').map(Number);
      return Math.hypot(toX - fromX, toY - fromY) > 60;
    }, [x, y], { timeout: 4000 }).then(() => true, () => false);
    await page.keyboard.up(key);
    if (gone) return `${key} from ${x}, ${y} to ${await placeOf(page)}`;
  }
  throw new Error('no key leads anywhere');
}

/** @param {import('../lib/game.mjs').Game} game */
export async function ownPage(game) {
  const [, html] = /```html\n(.*?)```/s.exec(await readFile(DOCUMENT, 'utf8')) ?? [];
  let server = await start(0, ROOM);
  const page = await (await game.browser.newContext({ viewport: DESKTOP })).newPage();
  const complaints = new Complaints();
  complaints.watch(page, 'own page');
  const proxy = await serveBeside('own.html', html, '/r/arena/');
  proxy.to(server.port);
  const status = page.locator('#status');
  const placed = page.locator('#place', { hasText: /\d+, \d+/ });
  try {
    await game.check('a page of one\'s own joins the room that its module comes from, and walks', async () => {
      await page.goto(proxy.url);
      await placed.waitFor();
      const rooms = await (await fetch(`${server.url}/rooms?format=json`)).json();
      assert.deepEqual(rooms.rooms.map(({ name, players }) => [name, players]), [['', 0], ['arena', 1]]);
      const note = await walk(page);
      await page.waitForFunction(() => /\d/.test(document.getElementById('ping').textContent));
      assert.deepEqual(complaints.list, []);
      return note;
    });
    await game.check('it says that the server is away, and comes back to the new world by itself', async () => {
      const before = await status.innerText();
      assert.match(before, /^Connected to the world [0-9a-f]{16}\.$/);
      await server.stop();
      await status.filter({ hasText: 'Trying again…' }).waitFor();
      await page.evaluate(() => { document.getElementById('place').textContent = '?'; });
      server = await start(server.port, ROOM);
      await status.filter({ hasText: 'Connected' }).waitFor();
      assert.notEqual(await status.innerText(), before);
      await placed.waitFor();
      const note = await walk(page);
      assert.deepEqual(complaints.list.filter((line) => !AWAY.test(line)), []);
      return note;
    });
    await game.check('a page of another site imports the module from the server, and walks', async () => {
      const other = await serveBeside('own.html', html.replace("'./tickwire.js'", `'${server.url}/tickwire.js'`), '/');
      await page.goto(other.url);
      await placed.waitFor();
      const note = await walk(page);
      await page.goto('about:blank');
      other.close();
      return note;
    });
  } finally {
    await page.context().close();
    proxy.close();
    await server.stop().catch(() => server.kill());
  }
}
