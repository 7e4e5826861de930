// A server on which only holders of a token play: the page takes the token from its link, keeps it over a reload, and says to others why they
// do not play.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Complaints, press, until } from '../lib/browser.mjs';
import { FLAGS } from '../lib/game.mjs';
import { start } from '../lib/server.mjs';

const ANN = 'anns+token/0123456789=';
const WITHOUT = 'To play here you need a token: open the link from the operator of this server.';
const WRONG = 'The server does not know your token: ask its operator for a new link.';

/** @param {import('../lib/game.mjs').Game} game */
export async function tokens(game) {
  const folder = await mkdtemp(join(tmpdir(), 'tickwire-tokens-'));
  const file = join(folder, 'tokens');
  await writeFile(file, `# players\nann ${ANN}\n`, { mode: 0o600 });
  const watched = await start(0, [...FLAGS, '--token-file', file, '--spectators']);
  const closed = await start(0, [...FLAGS, '--token-file', file]);
  const complaints = new Complaints();
  const open = async (/** @type {string} */ url) => {
    const page = await (await game.browser.newContext()).newPage();
    complaints.watch(page, 'tokens');
    await page.goto(url);
    return page;
  };
  try {
    await game.check('a link with a token plays; the token leaves the address bar and is kept over a reload', async () => {
      const page = await open(`${watched.url}/#token=${ANN}`);
      await until(page, () => window.tickwire?.state === 'live');
      assert.equal(page.url(), `${watched.url}/`);
      await press(page, '#play');
      await until(page, () => window.tickwire.id !== null);
      const id = await page.evaluate(() => window.tickwire.id);
      await page.reload();
      await until(page, (before) => window.tickwire?.id === before, id);
      // At another place, where the token is in the query.
      const other = await open(`${watched.url}/?inspector&token=${encodeURIComponent(ANN)}`);
      await until(other, () => window.tickwire?.state === 'live');
      assert.equal(other.url(), `${watched.url}/?inspector`);
      await other.locator('#play').click();
      await until(other, (before) => window.tickwire.id === before, id);
      await page.locator('#status-text', { hasText: 'The game goes on in another tab.' }).waitFor();
      const operator = await open(/http:\S+\/admin#\S+/.exec(watched.log())?.[0] ?? '');
      await operator.locator('#players td[title$=", token ann"]').waitFor();
      await Promise.all([page, other, operator].map((each) => each.context().close()));
    });
    await game.check('without a token one looks on, or is told why there is no game', async () => {
      const spectator = await open(`${watched.url}/`);
      await until(spectator, () => window.tickwire?.state === 'live');
      await press(spectator, '#play');
      await spectator.locator('#title-count', { hasText: WITHOUT }).waitFor();
      assert.deepEqual(await spectator.evaluate(() => [window.tickwire.id, window.tickwire.state]), [null, 'live']);
      const nobody = await open(`${closed.url}/`);
      await nobody.locator('#title-count', { hasText: WITHOUT }).waitFor();
      await Promise.all([spectator, nobody].map((each) => each.context().close()));
    });
    await game.check('a wrong token is named, and forgotten for the next time', async () => {
      const page = await open(`${watched.url}/#token=a-wrong-token-of-the-test`);
      await page.locator('#title-count', { hasText: WRONG }).waitFor();
      await page.reload();
      await until(page, () => window.tickwire?.state === 'live');
      await page.context().close();
    });
    assert.deepEqual(complaints.list, []);
  } finally {
    await Promise.all([watched, closed].map((server) => server.stop()));
    await rm(folder, { recursive: true });
  }
}
