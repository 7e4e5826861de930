// Pages in browsers that lack something, or forbid it: the page says what is missing, and is played without it.

import assert from 'node:assert/strict';
import { Complaints, press, state, until } from '../lib/browser.mjs';
import { DESKTOP } from '../lib/game.mjs';

/** Removes every facility that the page can do without. Storage throws, as where a browser blocks it. */
function removeAll() {
  for (const name of ['AudioContext', 'webkitAudioContext', 'WebAssembly', 'BroadcastChannel']) delete globalThis[name];
  for (const name of ['localStorage', 'sessionStorage']) {
    Object.defineProperty(globalThis, name, { get() { throw new DOMException('The operation is insecure.', 'SecurityError'); } });
  }
  for (const name of ['clipboard', 'locks', 'permissions', 'serviceWorker']) Object.defineProperty(Navigator.prototype, name, { value: undefined });
  for (const name of ['toSorted', 'toReversed', 'toSpliced', 'with']) delete Array.prototype[name];
}

/** A page whose scripts find a browser that has been changed. @param {import('../lib/game.mjs').Game} game @param {() => void} change @param {string} search */
async function open(game, change, search) {
  const context = await game.browser.newContext({ viewport: DESKTOP });
  await context.addInitScript(change);
  const page = await context.newPage();
  const complaints = new Complaints();
  complaints.watch(page, 'lacking');
  await page.goto(game.server.url + search);
  return { page, complaints, context };
}

/** @param {import('../lib/game.mjs').Game} game */
export async function lacking(game) {
  await game.check('a reloaded page requests only itself, the figures of the server, and its WebSocket', async () => {
    const { page, complaints, context } = await open(game, () => {}, '/');
    // Its modules run, and the last file that they load is here.
    const isLoaded = () => window.tickwire?.state === 'live'
      && performance.getEntriesByType('resource').some(({ name, responseEnd }) => name.endsWith('/wasm/instance.js') && responseEnd > 0);
    await until(page, isLoaded);
    await page.reload();
    await until(page, isLoaded);
    // A file from the cache has no transferred bytes.
    const requested = await page.evaluate(() => performance.getEntriesByType('resource').filter(({ transferSize }) => transferSize > 0).map(({ name }) => name));
    const names = new Set(requested.map((name) => new URL(name).pathname.replace(/^\/v\/[0-9a-f]{16}/, '')));
    for (const name of ['/codes.json', '/rooms', '/rules.json', '/wasm/prediction.wasm']) names.delete(name);
    assert.deepEqual([...names], []);
    assert.deepEqual(complaints.list, []);
    await context.close();
  });
  await game.check('without sound, WebAssembly, storage, clipboard and locks one plays, and the card says what is missing and what is wrong in the address', async () => {
    const { page, complaints, context } = await open(game, removeAll, '/?netem=nonsense&mode=locstep&nett=1');
    await until(page, () => window.tickwire?.state === 'live');
    const notes = await page.locator('#title-notes').innerText();
    for (const sentence of [/no Web Audio/, /no WebAssembly/, /forbids this page to store/, /mode=locstep: must be stream or lockstep/, /No network is simulated/]) assert.match(notes, sentence);
    await press(page, '#play');
    await until(page, () => window.tickwire.own !== null);
    await page.keyboard.press('m');
    assert.equal(await state(page, 'state'), 'live');
    assert.deepEqual(complaints.list.filter((line) => !/console warning: .*(prediction|simulated line|unknown settings: nett)/.test(line)), []);
    await context.close();
  });
  await game.check('without a canvas, and without WebSocket, the page says that it cannot be played and why', async () => {
    for (const [change, sentence] of [
      [() => { HTMLCanvasElement.prototype.getContext = () => null; }, /canvas/],
      [() => { delete globalThis.WebSocket; }, /no WebSocket/],
    ]) {
      const { page, context } = await open(game, change, '/');
      await page.locator('#title-count.failed', { hasText: sentence }).waitFor();
      await context.close();
    }
  });
}
