// The tab edition, and the game's page with the inspector beside it: from a link to the unmasked bytes of one's own key press, with a real mouse and
// a real key. The tab edition comes from a plain static server below the top of its host, and its network is cut once it has loaded.
// `node tab.mjs [path of the server]`; screenshots go to tests/output/.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { keep, press, state, until } from './lib/browser.mjs';
import { Game } from './lib/game.mjs';
import { serve, tabEdition } from './lib/static.mjs';
import { breakARule } from './parts/teaching.mjs';

const VIEWPORT = { width: 1280, height: 720 };
/** Time from a link to one's own bytes. Measured, and printed; the check is that it is not several times as long on a busy machine. */
const TARGET_MS = 10_000;
const SLACK = 4;

const folder = tabEdition();
const game = await new Game().open();

/** What one must see of one's own frame, without scrolling. */
const SEEN = ['#frame-title', '#figure', '#cells', '#xor', '#flip'];

/**
 * Two clicks and one key, at the page that is open.
 * @param {import('playwright-core').Page} page @param {string} name of the screenshot @returns what the unmasked bytes are
 */
async function steps(page, name) {
  const inside = page.frameLocator('#wire');
  await press(page, '#title-form .see-wire');
  // The real server's inspector comes over the network now; whoever presses keys before it is there does not see them.
  await inside.locator('#list li').first().waitFor({ timeout: 30_000 });
  await press(page, '#play');
  await page.keyboard.down('d');
  await inside.locator('#frame-title', { hasText: /^move/ }).waitFor({ timeout: 30_000 });
  const unmasked = (await inside.locator('#cells .meant').allInnerTexts()).join(' ').replace(/\s+/g, ' ');
  await page.keyboard.up('d');
  for (const selector of SEEN) {
    const box = await inside.locator(selector).boundingBox();
    assert.ok(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= VIEWPORT.width && box.y + box.height <= VIEWPORT.height, `${selector}: ${JSON.stringify(box)}`);
  }
  await keep(page, name);
  // An array of two: the code of `move`, and its arguments.
  assert.match(unmasked, /^unmasked 92 03 93( \w\w)+$/);
  return unmasked;
}

/** Presses keys until a frame is drawn: who comes back into the game is not at once where a key counts. */
async function key(page, seen) {
  for (const name of ['d', 'a', 'd', 'a']) {
    await page.keyboard.down(name);
    const came = await seen.waitFor({ timeout: 3000 }).then(() => true, () => false);
    await page.keyboard.up(name);
    if (came) return;
  }
  assert.fail('the frame of the key press was never drawn');
}

/** A bit of the frame is flipped and sent; the rule is read, and the game plays on. @param {import('playwright-core').Page} page */
async function flipAndPlayOn(page) {
  await breakARule(page, (_, { story: box }) => assert.ok(box && box.y >= 0 && box.y + box.height <= VIEWPORT.height && box.x + box.width <= VIEWPORT.width, JSON.stringify(box)));
  const inside = page.frameLocator('#wire');
  const broken = await inside.locator('#chosen').getAttribute('data-n');
  await key(page, inside.locator(`#chosen:not([data-n="${broken}"]) #frame-title`, { hasText: /^move/ }));
}

/** A page of its own. @param {string} who */
const tab = (who) => game.page(who, { viewport: VIEWPORT });

/** Opens the tab edition, and waits until all that it needs is there. @param {import('playwright-core').Page} page @param {string} url */
async function load(page, url) {
  await page.goto(url);
  await until(page, () => window.tickwire?.state === 'live');
  await page.locator('#edition-offline').waitFor();
}

/** No page, worker or service worker of a context gets anything from now on. */
async function cut(page, site) {
  await site.cut();
  await page.context().setOffline(true);
}

async function offline() {
  const site = await serve(folder);
  const page = await tab('tab');
  await game.check('the tab edition says what it is, from a plain static server below the top of its host', async () => {
    await load(page, site.url);
    const text = await page.locator('#title-edition').innerText();
    assert.match(text, /whole server, running in this tab, with 20 bots .* works offline.* cargo run --release/s);
    await keep(page, 'tab-title');
    await page.goto('about:blank');
  });
  await game.check('from the link to the unmasked bytes of one\'s own key: two clicks, one key, no network', async () => {
    const from = performance.now();
    await load(page, site.url);
    const loaded = performance.now() - from;
    await cut(page, site);
    const asked = site.asked.length;
    const bytes = await steps(page, 'tab-move');
    const took = performance.now() - from;
    assert.equal(site.asked.length, asked, 'nothing was asked for after the cut');
    assert.ok(took < TARGET_MS * SLACK, `${took} ms`);
    return `${bytes}; loaded after ${(loaded / 1000).toFixed(1)} s, seen after ${(took / 1000).toFixed(1)} s (target: ${TARGET_MS / 1000} s)`;
  });
  await game.check('flip a bit, read the rule, be back in the game: in the tab', async () => {
    await flipAndPlayOn(page);
    await keep(page, 'tab-flip');
  });
  await game.check('two tabs have a world each, and a reload works without the network', async () => {
    const first = await state(page, 'epoch');
    const other = await page.context().newPage();
    game.complaints.watch(other, 'other tab');
    await other.goto(`${site.url}?inspector`);
    await until(other, () => window.tickwire?.state === 'live');
    await other.frameLocator('#wire').locator('#status[data-state="open"]').waitFor();
    await page.bringToFront();
    assert.notEqual(await state(other, 'seed'), await state(page, 'seed'));
    await page.reload();
    await until(page, () => window.tickwire?.state === 'live');
    assert.notEqual(await state(page, 'epoch'), first, 'a world of its own each time');
    assert.equal(await other.frameLocator('#wire').locator('#status').getAttribute('data-state'), 'open');
  });
  await page.context().close();
}

async function withoutWorker() {
  const site = await serve(folder, { types: { wasm: 'application/octet-stream' } });
  // The browser asks for the icon again, in vain, which is no complaint of ours.
  const page = await (await game.browser.newContext({ viewport: VIEWPORT })).newPage();
  // As over http from another machine.
  await page.addInitScript(() => { delete Navigator.prototype.serviceWorker; });
  await game.check('without a service worker, and from a host that does not know WebAssembly, what was loaded works on', async () => {
    await page.goto(site.url);
    await until(page, () => window.tickwire?.state === 'live');
    await page.locator('#wire').waitFor({ state: 'attached' });
    await until(page, () => document.querySelector('#wire').contentDocument.readyState === 'complete');
    await page.frameLocator('#wire').locator('body.game').waitFor({ state: 'attached' });
    await cut(page, site);
    await steps(page, 'tab-no-worker');
    assert.equal(await page.locator('#edition-offline').isVisible(), false);
  });
  await page.context().close();
}

/** The round trip of the newest ping. */
const trip = () => window.tickwire.stats.pingMs;

async function conditions() {
  const site = await serve(folder);
  const page = await tab('conditions');
  await game.check('?netem=4g simulates a network to the server in the tab; the panel says so, and changes it', async () => {
    await page.goto(`${site.url}?netem=4g`);
    await until(page, () => window.tickwire?.state === 'live');
    await press(page, '#play');
    await until(page, () => window.tickwire.own !== null);
    await page.keyboard.press('p');
    assert.equal(await page.locator('#p-net').inputValue(), '4g');
    assert.match(await page.locator('#p-net-text').innerText(), /^A phone on LTE.* Each way: delay 35 ms, jitter 15 ms, loss 0.5%, rate 1.5 MB\/s\.$/);
    const [row, panel] = await Promise.all(['#p-net-row', '#panel'].map((selector) => page.locator(selector).boundingBox()));
    assert.ok(row && panel && row.x >= panel.x && row.x + row.width <= panel.x + panel.width && row.y + row.height <= panel.y + panel.height, JSON.stringify({ row, panel }));
    // Twice 35 ms, each at most 15 ms less.
    await until(page, () => window.tickwire.stats.pingMs >= 40);
    const slow = await page.evaluate(trip);
    await keep(page, 'tab-net');
    await page.locator('#p-net').selectOption('transatlantic');
    await page.locator('#p-net-text', { hasText: 'delay 45 ms' }).waitFor();
    assert.equal(new URL(page.url()).search, '?netem=transatlantic');
    await page.locator('#p-net').selectOption('');
    await page.locator('#p-net-text', { hasText: 'Choose a line' }).waitFor();
    await until(page, (before) => window.tickwire.stats.pingMs !== null && window.tickwire.stats.pingMs < before, Math.min(slow, 40));
    assert.equal(new URL(page.url()).searchParams.has('netem'), false);
    return `round trip ${slow.toFixed(0)} ms, then ${(await page.evaluate(trip)).toFixed(1)} ms`;
  });
  await page.context().close();
  await site.cut();
}

async function failures() {
  const told = async (name, options, prepare, expected) => {
    await game.check(`${name}: the page says so`, async () => {
      const site = await serve(folder, options);
      // What fails here is meant to, so nobody complains.
      const page = await (await game.browser.newContext({ viewport: VIEWPORT })).newPage();
      await prepare(page);
      await page.goto(site.url);
      await page.locator('#title-count.failed', { hasText: expected }).waitFor({ timeout: 15_000 });
      await page.context().close();
      await site.cut();
    });
  };
  await told('no WebAssembly', {}, (page) => page.addInitScript(() => { delete window.WebAssembly; }), /needs WebAssembly/);
  await told('tickwire.wasm is missing', { missing: 'wasm/tickwire.wasm' }, async () => {}, /tickwire\.wasm could not be loaded: status 404/);
  await told('the worker is missing', { missing: 'wasm/server-worker.js' }, async () => {}, /server in this tab could not be loaded/);
  await told('a file of the page is missing', { missing: 'game/effect-player.js' }, async () => {}, /file of this page could not be loaded/);
}

async function served() {
  await game.check('the server has the same files at /tab/', async () => {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const name = relative(folder, join(entry.parentPath, entry.name));
      const response = await fetch(`${game.server.url}/tab/${name}`);
      assert.ok(response.ok && Buffer.from(await response.arrayBuffer()).equals(await readFile(join(folder, name))), name);
    }
  });
  const page = await tab('served');
  await game.check('the same steps at /tab of the server', async () => {
    await load(page, `${game.server.url}/tab`);
    assert.equal(page.url(), `${game.server.url}/tab/`);
    await steps(page, 'tab-served');
  });
  await game.check('a module of one\'s own joins the server in the tab by tickwire.js, and looks around', () => page.evaluate(async () => {
    const { connect } = await import('./tickwire.js');
    const other = await connect({ name: 'Zed', units: true });
    other.on('spawned', () => other.send('aim', { heading: 2 }));
    const own = await new Promise((turned) => {
      other.on('update', (update) => { if (Math.abs(update.own?.[0]?.heading - 2) < 0.001) turned(update.own[0]); });
    });
    const note = `player ${other.player} at ${Math.round(own.x)}, ${Math.round(own.y)} after ${other.counts.messagesIn} messages`;
    other.close();
    return note;
  }));
  await page.context().close();
  const real = await tab('real');
  await game.check('the same steps at the page of the real server', async () => {
    const from = performance.now();
    await real.goto(game.server.url);
    await until(real, () => window.tickwire?.state === 'live');
    assert.equal(await real.locator('#title-edition').isVisible(), false);
    const bytes = await steps(real, 'tab-real');
    return `${bytes}; seen after ${((performance.now() - from) / 1000).toFixed(1)} s`;
  });
  await game.check('flip a bit, read the rule, be back in the game: at the real server', () => flipAndPlayOn(real));
  await real.context().close();
}

try {
  for (const part of [offline, withoutWorker, conditions, failures, served]) await part();
  await game.check('no page error, console error, warning or failed request', () => {
    assert.deepEqual(game.complaints.list, []);
  });
} finally {
  await game.browser.close();
  await game.server.stop().catch(() => game.server.kill());
}
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
