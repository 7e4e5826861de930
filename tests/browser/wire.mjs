// The inspector: one page plays, another watches it, frame by frame; and both in one window.
// Real mouse and keys, the real server. `node wire.mjs [path of the server]`; screenshots go to tests/output/.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { keep, state, until } from './lib/browser.mjs';
import { FLAGS, Game } from './lib/game.mjs';
import { largeCapture } from './parts/large-capture.mjs';
import { pasting } from './parts/pasting.mjs';
import { flipping, lane, teaching } from './parts/teaching.mjs';
import { binary } from './lib/server.mjs';

const SAVED = fileURLToPath(new URL('../output/wire.pcapng', import.meta.url));
const SAMPLE = fileURLToPath(new URL('../../scripts/wireshark/samples/broken.pcapng', import.meta.url));
const LARGE = { width: 1920, height: 1080 };
const SMALL = { width: 1366, height: 768 };
const DESK = { width: 1280, height: 720 };

const game = await new Game().open(FLAGS);
const { ada } = game;
const wire = await game.page('wire', { viewport: LARGE, acceptDownloads: true });

/** Places that are lit in a part, each as its first and last bit. */
const lit = (selector) => wire.locator(`${selector} .lit[data-start]`).evaluateAll((all) => all.map((box) => [Number(box.dataset.start), Number(box.dataset.end)]));
const box = (name) => wire.locator('#figure .box', { hasText: new RegExp(`^[01]+${name}`) }).first();
const row = (name) => wire.locator('#tree tr').filter({ has: wire.getByText(name, { exact: true }) }).first();
const filter = async (text) => {
  await wire.keyboard.press('/');
  await wire.locator('#filter').fill(text);
  await wire.waitForFunction((typed) => document.querySelector('#filter').dataset.read === typed, text);
  await wire.keyboard.press('Escape');
};

/** Keeps a request of a page waiting. @param {import('playwright-core').Page} page @param {string} url */
async function hold(page, url) {
  let [asked, release] = [() => {}, () => {}];
  const held = { asked: new Promise((resolve) => { asked = () => resolve(undefined); }), release: () => release() };
  const released = new Promise((resolve) => { release = () => resolve(undefined); });
  await page.route(url, async (route) => { asked(); await released; await route.continue(); });
  return held;
}

/** Presses a key in a game until it has walked. @param {import('playwright-core').Page} page @param {string} key */
async function step(page, key) {
  await page.bringToFront();
  await page.keyboard.down(key);
  await page.waitForTimeout(350);
  await page.keyboard.up(key);
  await page.waitForTimeout(150);
}

/** Presses one key after another until something is seen: the inspector may just begin to watch, and misses what came before. */
async function keysUntil(page, seen) {
  for (const key of ['d', 'a', 's', 'w', 'd', 'a']) {
    await page.keyboard.down(key);
    const came = await seen.waitFor({ timeout: 2500 }).then(() => true, () => false);
    await page.keyboard.up(key);
    if (came) return;
  }
  await seen.waitFor({ timeout: 15000 });
}

/** Presses the bar of the updates, which is there for the few seconds after a walk: who was too late walks again. */
async function pressBar() {
  const bar = wire.locator('#bars button', { hasText: 'update' });
  const seen = [];
  for (const key of ['d', 'a', 'd', 'a', 'd', 'a']) {
    await step(ada, key);
    await wire.bringToFront();
    const [text, own] = await bar.evaluate((one) => [one.innerText, one.querySelectorAll('.part[title^="own"]').length], undefined, { timeout: 4000 })
      .catch(() => ['', 0]);
    seen.push({ text, own });
    if (!/\d+(\.\d)? k?B\/s/.test(text) || own !== 1) continue;
    const pressed = await bar.click({ timeout: 4000 }).then(() => true, () => false);
    if (pressed && await wire.locator('#filter').inputValue() === 'packet=update') return;
  }
  assert.fail(`no bar of updates was pressed: ${JSON.stringify(seen)}`);
}

async function watching() {
  await game.check('the page of this machine needs no token, and watches who plays', async () => {
    await ada.goto(game.server.url);
    await until(ada, () => window.tickwire.state === 'live');
    await ada.keyboard.type('Ada');
    await ada.keyboard.press('Enter');
    await until(ada, () => window.tickwire.own !== null);
    await wire.goto(`${game.server.url}/wire`);
    await wire.locator('#list li').first().waitFor({ timeout: 15000 });
    assert.match(await wire.locator('#client option:checked').innerText(), /^#\d+ · Ada · native · 127\.0\.0\.1:\d+$/);
  });
  await game.check('frames come as they happen, both ways, and a filter leaves what is asked for', async () => {
    for (const key of ['d', 's']) await step(ada, key);
    await wire.bringToFront();
    await wire.locator('#list li[data-packet="update"]').first().waitFor({ timeout: 15000 });
    // Only the newest lines exist, and the server says more than a page: both are among them now and then.
    await until(wire, () => new Set([...document.querySelectorAll('#list li')].map((line) => line.dataset.from)).size === 2);
    await wire.getByRole('button', { name: '↑ Client' }).click();
    await filter('-ping -aim');
    await until(wire, () => {
      const all = [...document.querySelectorAll('#list li')];
      const names = all.map((line) => line.querySelector('.name').firstChild?.textContent);
      return names.includes('move') && !names.includes('ping') && !names.includes('aim') && all.every((line) => line.dataset.from === 'client');
    });
    await filter('move');
    await until(wire, () => {
      const all = [...document.querySelectorAll('#list li')];
      return all.length > 0 && all.every((line) => line.querySelector('.name').firstChild?.textContent === 'move' && /^direction=(nil|[\d.]+°) sequence=\d+$/.test(line.querySelector('.name i')?.textContent ?? ''));
    });
  });
}

async function drawing() {
  await game.check('the pressed key\'s frame is drawn: opcode 2, masked with its key, packet move', async () => {
    await wire.locator('#list li[data-packet="move"]').first().click();
    await wire.locator('#frame-title', { hasText: /^move/ }).waitFor({ timeout: 15000 });
    assert.equal(await wire.locator('#follow').getAttribute('aria-pressed'), 'false', 'a chosen frame stays');
    assert.match(await box('opcode').innerText(), /2, binary/);
    const bits = await box('opcode').locator('.bits').innerText();
    assert.equal(bits.replace(/\s/g, ''), '0010');
    assert.equal((await wire.locator('#figure .t-mask .bits').innerText()).trim(), '1');
    const key = (await row('masking_key').locator('.value').innerText()).split(' ');
    assert.equal(key.length, 4);
    assert.deepEqual(await lane(wire, 'key'), key);
    assert.match(await row('sequence').locator('.value').innerText(), /^\d+$/);
  });
  await game.check('what is pointed at in the tree is lit in drawing and bytes, and the other way round', async () => {
    const unique = (places) => [...new Set(places.map(String))];
    await row('masking_key').hover();
    assert.deepEqual([await lit('#cells'), await lit('#figure')], [[[16, 24], [24, 32], [32, 40], [40, 48]], []]);
    await row('opcode').hover();
    assert.deepEqual([await lit('#cells'), await lit('#figure')], [[], [[4, 8]]]);
    await wire.locator('#cells .key .cell').nth(1).hover();
    assert.deepEqual(await wire.locator('#tree .lit .name').allInnerTexts().then((all) => all.map((name) => name.trim())), ['masking_key']);
    await wire.locator('#cells .means .box', { hasText: 'sequence' }).hover();
    assert.deepEqual(await wire.locator('#tree .lit .name').allInnerTexts().then((all) => all.map((name) => name.trim())), ['sequence']);
    // The byte as sent, that of the key below it, the unmasked one, and what it means.
    assert.equal((await lit('#cells')).length, 4);
    assert.equal(unique(await lit('#cells')).length, 1);
    await keep(wire, 'wire-move');
    await wire.mouse.move(5, 5);
    assert.deepEqual([await lit('#cells'), await lit('#figure')], [[], []]);
  });
  await game.check('the arrow keys go through the frames that are seen', async () => {
    const first = await wire.locator('#chosen').getAttribute('data-n');
    await wire.keyboard.press('ArrowDown');
    await wire.waitForFunction((n) => document.querySelector('#chosen').dataset.n !== n, first, { timeout: 15000 });
    assert.match(await wire.locator('#frame-title').innerText(), /^move/);
  });
}

async function keeping() {
  await game.check('a pause holds the list while the game goes on', async () => {
    await filter('');
    await wire.getByRole('button', { name: 'Both' }).click();
    await wire.locator('#frame').click({ position: { x: 4, y: 4 } });
    await wire.keyboard.press(' ');
    await wire.locator('#note', { hasText: 'Paused' }).waitFor({ timeout: 15000 });
    const last = () => wire.locator('#list li').last().getAttribute('data-n');
    await wire.keyboard.press('f');
    await wire.waitForTimeout(300);
    const before = await last();
    await step(ada, 'a');
    await wire.bringToFront();
    await wire.locator('#note', { hasText: /Paused: \d+ frames? passed/ }).waitFor({ timeout: 15000 });
    assert.equal(await last(), before);
  });
  await game.check('what is kept is saved as a pcapng file', async () => {
    const [download] = await Promise.all([wire.waitForEvent('download', { timeout: 15000 }), wire.getByRole('button', { name: 'Save pcapng' }).click()]);
    assert.match(download.suggestedFilename(), /^tickwire-client-\d+\.pcapng$/);
    await download.saveAs(SAVED);
    const file = await readFile(SAVED);
    assert.equal(file.subarray(0, 4).toString('hex'), '0a0d0d0a');
    assert.ok(file.includes('GET /play HTTP/1.1') && file.length > 2000, `${file.length} bytes`);
  });
  await game.check('then frames come again, and bytes a second are shown by packet and field', async () => {
    await wire.keyboard.press(' ');
    await pressBar();
    await wire.locator('#frame-title', { hasText: /./ }).waitFor();
    await keep(wire, 'wire');
    await wire.setViewportSize(SMALL);
    await wire.locator('#list li').first().click();
    await wire.locator('#frame-title', { hasText: /^update/ }).waitFor({ timeout: 15000 });
    await wire.locator('#cells .cell').nth(8).hover();
    assert.ok(await wire.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight));
    await keep(wire, 'wire-small');
  });
  await game.check('the handshake is there as text, header by header', async () => {
    await filter('upgrade');
    await wire.locator('#list li').first().click();
    await wire.locator('#frame-text', { hasText: 'GET /play HTTP/1.1' }).waitFor({ timeout: 15000 });
    await keep(wire, 'wire-upgrade');
  });
}

/** Whether each of these is wholly within the window. */
const inWindow = (page, boxes) => {
  const { width, height } = page.viewportSize();
  for (const [name, box] of Object.entries(boxes)) {
    assert.ok(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${name}: ${JSON.stringify(box)}`);
  }
};

async function beside() {
  const both = await game.page('both', { viewport: DESK });
  const inside = both.frameLocator('#wire');
  const wired = () => both.locator('#title-form .see-wire');
  await game.check('a button on the title card opens the inspector beside the game, and closes it', async () => {
    await both.goto(game.server.url);
    await until(both, () => window.tickwire.state === 'live');
    await wired().click();
    await inside.locator('#status[data-state="open"]').waitFor({ timeout: 15000 });
    const [left, right] = [await both.locator('#game').boundingBox(), await both.locator('#wire').boundingBox()];
    inWindow(both, { left, right });
    assert.ok(left.x + left.width <= right.x + 1 && right.width > 0.54 * DESK.width, JSON.stringify([left, right]));
    assert.equal(new URL(both.url()).search, '?inspector');
    await wired().click();
    assert.equal(await both.locator('#wire').isVisible(), false);
    assert.deepEqual([(await both.locator('#game').boundingBox()).width, new URL(both.url()).search], [DESK.width, '']);
  });
  await game.check('beside the game one sees the frame of one\'s own key', async () => {
    await both.goto(`${game.server.url}/?inspector`);
    await until(both, () => window.tickwire.state === 'live');
    await both.locator('#name').fill('Cy');
    await both.locator('#play').click();
    await inside.locator('#client option:checked', { hasText: 'Cy' }).waitFor({ state: 'attached', timeout: 15000 });
    await until(both, () => window.tickwire.own !== null);
    await keysUntil(both, inside.locator('#frame-title', { hasText: /^move/ }));
    assert.notEqual(await state(both, 'id'), await state(ada, 'id'));
    await keep(both, 'wire-beside');
  });
  await game.check('the panel of the connection explains its figures, has a graph, and its button closes the inspector', async () => {
    const lives = await state(both, 'lives');
    await both.keyboard.press('p');
    await both.locator('#p-gap', { hasText: /^\d+ ms$/ }).waitFor();
    assert.equal(await both.locator('#panel dl p').count(), await both.locator('#panel dt').count());
    assert.ok(await both.locator('#p-graph').evaluate((canvas) => new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)
      .filter((pixel) => pixel === 0xffddc269).length > 5), 'bars of gaps');
    await keep(both, 'wire-panel');
    await both.locator('#panel .see-wire').click();
    assert.equal(await both.locator('#wire').isVisible(), false);
    await both.locator('#panel .see-wire').click();
    await inside.locator('#game', { hasText: 'Close' }).click();
    assert.equal(await both.locator('#wire').isVisible(), false);
    assert.equal(await state(both, 'lives'), lives, 'the game went on');
  });
  await game.check('on a phone the inspector is below the game, or beside it when held across', async () => {
    await both.locator('#panel .see-wire').click();
    for (const [width, height] of [[390, 844], [844, 390]]) {
      await both.setViewportSize({ width, height });
      const [first, second] = [await both.locator('#game').boundingBox(), await both.locator('#wire').boundingBox()];
      inWindow(both, { first, second });
      assert.ok(width < height ? first.y + first.height <= second.y + 1 : first.x + first.width <= second.x + 1, JSON.stringify([first, second]));
      await until(both, () => document.querySelector('#world').width === Math.round(document.querySelector('#game').clientWidth * Math.min(2, devicePixelRatio)));
      await keep(both, `wire-beside-${width}`);
    }
  });
  await both.context().close();
}

/** Rows of the list: number, name, and what else is marked. */
const rows = (page) => page.locator('#list li').evaluateAll((all) => all.map((line) => ({ n: Number(line.dataset.n), name: line.querySelector('.name').firstChild?.textContent,
  trip: line.querySelector('.trip').textContent, marked: line.classList.contains('marked') })));

async function asking() {
  await game.check('a field is filtered by its value, a wrong filter is pointed at, and an empty list says why', async () => {
    await wire.setViewportSize(SMALL);
    await filter('move sequence > 0');
    await until(wire, () => {
      const names = [...document.querySelectorAll('#list li')].map((line) => line.querySelector('.name').firstChild?.textContent);
      return names.length > 0 && names.every((name) => name === 'move');
    });
    await wire.locator('#filter').fill('x > Ann');
    await wire.locator('#filter-error').waitFor();
    assert.equal(await wire.locator('#filter-error pre').textContent(), 'x > Ann\n    ^^^');
    assert.match(await wire.locator('#filter-error p').textContent(), /"Ann" is not a number/);
    await wire.locator('#filter').fill('move sequence > 123456789');
    await wire.locator('#why', { hasText: 'none matches sequence > 123456789' }).waitFor({ timeout: 15000 });
    assert.equal(await wire.locator('#filter-error').isVisible(), false);
    const help = wire.locator('#filter-help dl');
    for (const close of [() => wire.keyboard.press('Escape'), () => wire.locator('header h1').click()]) {
      await wire.locator('#filter-help summary').click();
      await help.waitFor();
      await close();
      await help.waitFor({ state: 'hidden' });
    }
  });
  await game.check('a ping and its pong are paired with their round trip, and one press hides them', async () => {
    await filter('ping pong');
    await wire.locator('#list .trip', { hasText: /⇄ [\d.]+ ms/ }).first().waitFor({ timeout: 15000 });
    await wire.getByRole('button', { name: 'Hide pings' }).click();
    await wire.locator('#why', { hasText: /of ping and pong (is|are) hidden/ }).waitFor({ timeout: 15000 });
    await wire.getByRole('button', { name: 'Hide pings' }).click();
    await filter('');
  });
  await game.check('the strip shows the gaps between updates, a press chooses one, and what changed is said', async () => {
    await step(ada, 'd');
    await wire.bringToFront();
    await wire.locator('#updates-words', { hasText: /^Update every [\d.]+ ms · jitter/ }).waitFor({ timeout: 15000 });
    await wire.locator('#updates').click({ position: { x: 40, y: 30 } });
    await wire.locator('#frame-title', { hasText: /^update/ }).waitFor({ timeout: 15000 });
    await wire.locator('#changes summary', { hasText: /^Since the previous update: / }).waitFor();
  });
  await game.check('frames are marked, and the marks gone through', async () => {
    await wire.locator('#list li').nth(7).click();
    await wire.keyboard.press('b');
    const first = Number(await wire.locator('#chosen').getAttribute('data-n'));
    for (let i = 0; i < 3; i += 1) await wire.keyboard.press('ArrowDown');
    await wire.keyboard.press('b');
    const second = Number(await wire.locator('#chosen').getAttribute('data-n'));
    assert.notEqual(first, second);
    await until(wire, () => document.querySelectorAll('#list .marked').length === 2);
    const goTo = async (key, n) => {
      await wire.keyboard.press(key);
      await wire.waitForFunction((wanted) => Number(document.querySelector('#chosen').dataset.n) === wanted, n);
    };
    await goTo('[', first);
    await goTo(']', second);
    await goTo(']', first);
  });
}

/** @param {import('playwright-core').Page} page */
async function noCapture(page) {
  await game.check('a file that is no capture is refused in words, and the page goes on', async () => {
    await page.setInputFiles('#file', fileURLToPath(new URL('./wire.mjs', import.meta.url)));
    await page.locator('#file-error', { hasText: 'wire.mjs: The file cannot be read: at byte 0: this is neither pcapng nor pcap.' }).waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
    await page.locator('#live').click();
    await until(page, () => document.querySelector('#inside').dataset.source === 'live');
    // The rows of the file are gone: any row is one of the client that is watched now.
    await page.locator('#list li').first().waitFor({ state: 'attached', timeout: 15000 });
  });
}

async function copying() {
  const context = await game.browser.newContext({ viewport: SMALL, permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await context.newPage();
  game.complaints.watch(page, 'copying');
  const held = await hold(page, '**/wasm/tickwire.wasm');
  await page.goto(`${game.server.url}/wire`, { waitUntil: 'commit' });
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await game.check('a capture is opened while the page loads, without the server, and has the frames of the explainer', async () => {
    await held.asked;
    await page.setInputFiles('#file', SAMPLE);
    held.release();
    await page.locator('#list li', { hasText: 'packet_truncated' }).first().waitFor({ timeout: 15000 });
    const told = execFileSync(binary(), ['explain', SAMPLE]).toString().split('\n').filter((line) => /^ +\d+ +[\d.]+ +\d+ +[<>] /.test(line));
    await page.locator('#note', { hasText: `${told.length} frames` }).waitFor({ timeout: 15000 });
    await page.locator('#list li', { hasText: 'packet_truncated' }).first().click();
    const line = await page.locator('#frame-line').innerText();
    assert.ok(told.some((one) => one.endsWith(line)), line);
    await keep(page, 'wire-capture');
  });
  await game.check('the chosen frame is copied in five ways, also with the keyboard, and the page says what was copied', async () => {
    await page.keyboard.press('c');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.as), 'hex');
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await page.locator('#note', { hasText: 'Copied a command' }).waitFor();
    const command = await clipboard();
    assert.match(command, /^tickwire explain --dialect \S+ --from client [0-9a-f]+$/);
    const raw = command.split(' ').at(-1);
    for (const [item, form] of [['Hexadecimal', raw.match(/../g).join(' ')], ['C array', `0x${raw.slice(0, 2)}, `], ['JSON', '"packet_truncated"']]) {
      await page.locator('#copy').click();
      await page.getByRole('menuitem', { name: item }).click();
      await page.locator('#note', { hasText: item === 'JSON' ? 'as JSON' : item === 'C array' ? 'C array' : 'hexadecimal' }).waitFor();
      assert.ok((await clipboard()).includes(form), item);
    }
  });
  await game.check('a link carries the frame to a page without a connection', async () => {
    await page.locator('#copy-link').click();
    await page.locator('#note', { hasText: 'Copied a link' }).waitFor();
    const link = await clipboard();
    const line = await page.locator('#frame-line').innerText();
    const sockets = [];
    const other = await context.newPage();
    game.complaints.watch(other, 'linked');
    other.on('websocket', (socket) => sockets.push(socket.url()));
    await other.goto(link);
    await other.locator('#frame-line', { hasText: line }).waitFor({ timeout: 15000 });
    assert.deepEqual(sockets, []);
    await other.close();
  });
  await noCapture(page);
  await largeCapture(game, page);
  await game.check('what was asked of the live frames is not asked of those of a capture', async () => {
    await page.getByRole('button', { name: '↑ Client' }).click();
    await page.locator('#filter').fill('aim');
    await page.setInputFiles('#file', SAMPLE);
    await page.locator('#list li', { hasText: 'packet_truncated' }).first().waitFor({ timeout: 15000 });
    assert.equal(await page.locator('#filter').inputValue(), '');
    assert.equal(await page.locator('#from [aria-pressed="true"]').innerText(), 'Both');
  });
  await context.close();
}

async function between() {
  await game.check('each client keeps its own frames, and coming back shows where it was not watched', async () => {
    const bob = await game.page('bob', { viewport: SMALL });
    await bob.goto(game.server.url);
    await until(bob, () => window.tickwire.state === 'live');
    await bob.keyboard.type('Bob');
    await bob.keyboard.press('Enter');
    await until(bob, () => window.tickwire.own !== null);
    await wire.bringToFront();
    await wire.locator('#client option', { hasText: 'Bob' }).waitFor({ state: 'attached', timeout: 15000 });
    const [ada, other] = await wire.locator('#client option').evaluateAll((all) => ['Ada', 'Bob'].map((name) => all.find((one) => one.text.includes(` · ${name} · `)).value));
    const before = (await rows(wire))[0].n;
    await wire.locator('#client').selectOption(other);
    // No row of the one before.
    await until(wire, (last) => {
      const lines = [...document.querySelectorAll('#list li')];
      return lines.length > 2 && lines.every((line) => Number(line.dataset.n) > last);
    }, before, 15000);
    await wire.locator('#client').selectOption(ada);
    await filter('');
    if (await wire.locator('#follow').getAttribute('aria-pressed') === 'false') await wire.locator('#follow').click();
    await wire.locator('#list .gap', { hasText: /not watched for [\d.]+ s/ }).waitFor({ timeout: 15000 });
    await wire.locator('#follow').click();
    await wire.evaluate(() => { document.querySelector('#list').scrollTop = 0; });
    await wire.waitForFunction((n) => [...document.querySelectorAll('#list li')].some((line) => Number(line.dataset.n) <= n), before);
    await bob.context().close();
  });
}

async function elsewhere() {
  // Under a name that is no literal loopback name the same server is somewhere else. What it refuses is logged as an error, so nobody complains here.
  const far = await (await game.browser.newContext({ viewport: SMALL })).newPage();
  const url = `http://game.localhost:${game.server.port}/wire`;
  const token = /\/admin#(\S+)/.exec(game.server.log())?.[1] ?? '';
  await game.check('from elsewhere the token is asked for, a wrong one is said to be wrong, and the right one lets in', async () => {
    const answer = await far.goto(url);
    assert.equal(answer?.status(), 403);
    await far.locator('#token').fill('a-token-that-is-wrong');
    await far.keyboard.press('Enter');
    await far.locator('#token-error', { hasText: 'not the token' }).waitFor({ timeout: 15000 });
    assert.equal(await far.locator('#list').isVisible(), false);
    await far.locator('#token').fill(token);
    await far.keyboard.press('Enter');
    await far.locator('#list li').first().waitFor({ timeout: 15000 });
    assert.equal(far.url(), url);
  });
  await game.check('a link with the token lets in, and the token leaves the address bar and is in no log', async () => {
    const linked = await (await game.browser.newContext()).newPage();
    await linked.goto(`${url}#${token}`);
    await linked.locator('#list li').first().waitFor({ timeout: 15000 });
    assert.equal(linked.url(), url);
    assert.equal(game.server.log().split(token).length, 2, 'only the banner has it');
    await linked.context().close();
  });
  await far.context().close();
}

try {
  const teach = () => teaching(game, wire, inWindow);
  const flip = () => flipping(game, keysUntil, inWindow);
  const paste = () => pasting(game);
  for (const part of [watching, drawing, teach, keeping, asking, between, copying, paste, beside, flip, elsewhere]) if (game.failed === 0) await part();
  if (game.failed > 0) await keep(wire, 'failed-wire');
  await game.check('no page error, console error, warning or failed request', () => {
    assert.deepEqual(game.complaints.list, []);
  });
} finally {
  await game.browser.close();
  await game.server.stop().catch(() => game.server.kill());
}
if (game.failed > 0) console.log(`the server's log:\n${game.server.log().replace(/^/gm, '    ')}`);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
