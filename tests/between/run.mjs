// The intercepting proxy between Chromium and six applications of other people. Each page and its WebSocket go through
// `tickwire between`; a second page shows the messages, holds one, edits it and sends another. The capture is then read by
// `explain` and, where it is installed, by tshark. `node run.mjs [path of tickwire]`; screenshots go to tests/output/.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Complaints, launch } from '../browser/lib/browser.mjs';
import { binary } from '../browser/lib/server.mjs';
import { APPS, mqttPublish } from './apps.mjs';

const OUTPUT = fileURLToPath(new URL('../output/', import.meta.url));
const PATIENCE_MS = 20000;
const SIZES = { desk: { width: 1440, height: 900 }, laptop: { width: 1280, height: 720 }, phone: { width: 390, height: 844 } };

/** Waits until a condition holds. @param {() => unknown} holds @param {string} what */
async function until(holds, what) {
  for (const end = performance.now() + PATIENCE_MS; !(await holds()); await sleep(50)) {
    if (performance.now() > end) assert.fail(`it did not happen: ${what}`);
  }
}

let [passed, failed] = [0, 0];

async function check(name, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok ${passed + failed} - ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
  }
}

/** Starts the proxy. @param {number} port of the application @param {string[]} flags */
async function between(port, flags) {
  const child = spawn(binary(), ['between', '--upstream', `ws://127.0.0.1:${port}`, '--bind', '127.0.0.1:0', '--page', '127.0.0.1:0', '--json', ...flags]);
  let printed = '';
  child.stdout.on('data', (data) => { printed += data; });
  child.stderr.on('data', (data) => { printed += data; });
  await until(() => printed.includes('"started"'), 'the proxy starts');
  const lines = () => printed.trim().split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  const started = lines()[0];
  return {
    url: `http://${started.address}/`,
    page: `http://${started.page}/`,
    messages: () => lines().filter(({ event }) => event === 'message'),
    stop: async () => {
      const ended = new Promise((resolve) => { child.once('exit', resolve); });
      child.kill('SIGTERM');
      return ended;
    },
  };
}

const browser = await launch();

/** The texts of the rows in view. @param {import('playwright-core').Page} wire */
const rows = (wire) => wire.locator('#list li').evaluateAll((all) => all.map((line) => line.textContent));

/** The lines of the log of an application's page. @param {import('playwright-core').Page} page */
const logged = (page) => page.locator('#log li').allTextContents();

/** @param {import('playwright-core').Page} page @param {string} text */
const waitForLog = (page, text) => page.locator('#log li', { hasText: text }).last().waitFor({ timeout: PATIENCE_MS });

/** The payload of a message as text. @param {{ text?: string, payload?: string }} message */
const contentOf = ({ text, payload }) => text ?? Buffer.from(payload ?? '', 'hex').toString('latin1');

/** @typedef {{ name: string, proxy: any, page: import('playwright-core').Page, wire: import('playwright-core').Page }} Stage */

/** A message of the page is readable in the terminal and in the list. @param {Stage} stage */
async function checkReadable({ name, proxy, page, wire }) {
  await check(`${name}: a message is readable in the terminal and on the page`, async () => {
    await page.evaluate(() => window.say('hello from the page'));
    await waitForLog(page, 'hello from the page');
    // A list has the start of a long message.
    const said = /hello f/;
    await until(async () => (await rows(wire)).filter((row) => said.test(row)).length >= 2, 'both directions on the page');
    const readable = proxy.messages().filter(({ line, text }) => said.test(`${line} ${text}`));
    assert.ok(readable.length >= 2, JSON.stringify(proxy.messages()));
  });
}

/** The page names the address of the proxy until a client connects. @param {Stage} stage */
async function checkAddress({ name, proxy, page, wire }) {
  await check(`${name}: the page names the address for clients until one connects`, async () => {
    await wire.locator('#connect-url', { hasText: proxy.url.replace('http', 'ws') }).waitFor({ timeout: PATIENCE_MS });
    await page.goto(proxy.url);
    await wire.locator('#connect').waitFor({ state: 'hidden', timeout: PATIENCE_MS });
  });
}

/** A compressed message has the header of the wire, and its inflated payload. @param {Stage} stage */
async function checkCompressed({ name, wire }) {
  await check(`${name}: a compressed message has its header bits and its inflated payload`, async () => {
    await wire.locator('#list li', { hasText: 'hello f' }).first().click();
    await wire.locator('#figure .box', { hasText: 'RSV1' }).locator('.bits', { hasText: '1' }).waitFor({ timeout: PATIENCE_MS });
    await wire.locator('#cells .label', { hasText: 'inflated' }).first().waitFor();
    assert.match(await wire.locator('#message-line').textContent(), /^The payload is inflated: 44 bytes/);
  });
}

/** A saved capture shows what the proxy did. @param {Stage} stage */
async function checkReopened({ name, wire }) {
  await check(`${name}: an opened capture shows the message that was received in place of the edited one`, async () => {
    const [download] = await Promise.all([wire.waitForEvent('download'), wire.locator('#save').click()]);
    const saved = `${OUTPUT}between-${name}-saved.pcapng`;
    await download.saveAs(saved);
    await wire.locator('#file').setInputFiles(saved);
    await wire.locator('#list li', { hasText: 'sent instead' }).first().click();
    await wire.locator('#frame-lane', { hasText: /^The proxy received instead: .*price 100/ }).waitFor({ timeout: PATIENCE_MS });
    assert.match(execFileSync(binary(), ['explain', saved], { encoding: 'utf8' }), /price 999.*\[changed by the proxy\]\n +received: .*price 100/);
    await wire.locator('#live').click();
  });
}

/** A held message waits until it is edited. @param {Stage} stage */
async function checkHeld({ name, proxy, page, wire }) {
  await check(`${name}: a held message waits, and leaves edited`, async () => {
    await wire.locator('[data-hold="client"]').click();
    await wire.locator('[data-hold="client"][aria-pressed="true"]').waitFor();
    await page.evaluate(() => window.say('price 100'));
    const card = wire.locator('#proxy-held li').first();
    await card.waitFor({ timeout: PATIENCE_MS });
    assert.ok(!(await logged(page)).includes('price 100'));
    const value = card.locator('textarea');
    const before = await value.inputValue();
    const isText = before.includes('price 100');
    const hex = (text) => [...Buffer.from(text)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const [old, edited] = isText ? ['price 100', 'price 1'.padEnd(9, '0').replace('100', '999')] : [hex('price 100'), hex('price 999')];
    assert.ok(before.includes(old), before);
    await value.fill(before.replace(old, edited));
    await wire.screenshot({ path: `${OUTPUT}between-${name}-held.png` });
    await card.getByRole('button', { name: 'Send edited' }).click();
    await waitForLog(page, 'price 999');
    await wire.locator('[data-hold="client"]').click();
    await wire.locator('[data-hold="client"][aria-pressed="false"]').waitFor();
    await until(async () => (await rows(wire)).some((row) => row.includes('sent instead')), 'the edit is in the list');
    const edit = proxy.messages().find(({ outcome }) => outcome === 'changed');
    assert.ok(Buffer.from(edit.sent, 'hex').length > 0 && edit.sent_line !== edit.line, JSON.stringify(edit));
    await page.evaluate(() => window.say('after the edit'));
    await waitForLog(page, 'after the edit');
    await until(() => proxy.messages().some((message) => message.from === 'server' && contentOf(message).includes('after the edit')), 'it is printed');
  });
}

/** A message that the proxy makes up reaches the page. @param {Stage} stage */
async function checkInjected({ name, proxy, page, wire }) {
  await check(`${name}: an injected message reaches the page`, async () => {
    const like = proxy.messages().findLast((message) => message.from === 'server' && contentOf(message).includes('after the edit'));
    assert.ok(like, JSON.stringify(proxy.messages()));
    const isText = like.text !== undefined;
    const [old, text] = ['after the edit', 'injected by me'];
    const value = name === 'mqtt' ? mqttPublish(text) : isText ? like.text.replace(old, text) : like.payload.replace(Buffer.from(old).toString('hex'), Buffer.from(text).toString('hex'));
    await wire.locator('#proxy-from').selectOption('server');
    await wire.locator('#proxy-form').selectOption(isText ? 'text' : 'binary');
    await wire.locator('#proxy-value').fill(value);
    await wire.locator('#proxy-send button').click();
    await waitForLog(page, text);
    const row = wire.locator('#list li', { has: wire.locator('.trip', { hasText: 'injected' }) }).last();
    await row.waitFor({ timeout: PATIENCE_MS });
    await row.click();
    await wire.locator('#frame-title', { hasText: 'injected as the server' }).waitFor({ timeout: PATIENCE_MS });
  });
}

/** The page begins with all clients: the menu next to *Send* has the connections, and one capture has all. @param {Stage} stage */
async function checkAllClients({ name, page, wire }) {
  await check(`${name}: with all clients, the user chooses the receiver of a message`, async () => {
    const options = () => wire.locator('#client option').allTextContents();
    assert.ok((await options()).every((text) => !/ · none /.test(text)), String(await options()));
    const second = await page.context().newPage();
    await second.goto(page.url());
    await waitForLog(second, 'open');
    await wire.locator('#client option', { hasText: /^All clients · [2-9] connected$/ }).waitFor({ state: 'attached', timeout: PATIENCE_MS });
    await wire.locator('#client option:checked', { hasText: /^All clients/ }).waitFor({ state: 'attached' });
    const target = `#${await wire.locator('#proxy-client').inputValue()}`;
    const other = (await wire.locator('#proxy-client option').allTextContents()).find((text) => text !== target);
    // A page that is opened later has each message once.
    const late = await page.context().newPage();
    await late.goto(wire.url());
    await late.locator('#client option:checked', { hasText: /^All clients · [2-9]/ }).waitFor({ state: 'attached' });
    await late.locator('#list li', { hasText: `#${await wire.locator('#proxy-client option').last().getAttribute('value')}` }).first().waitFor({ timeout: PATIENCE_MS });
    const [saved] = await Promise.all([late.waitForEvent('download'), late.locator('#save').click()]);
    assert.equal(saved.suggestedFilename(), 'tickwire-clients.pcapng');
    await late.locator('#note', { hasText: '--capture FILE' }).waitFor();
    const stdout = execFileSync(binary(), ['explain', await saved.path()], { encoding: 'utf8' });
    assert.match(stdout, /^\d+ packets, ([2-9]|\d\d) TCP connections\n/);
    assert.ok(!stdout.includes(' legacy '), stdout);
    const messages = stdout.split('\n').filter((line) => / [<>] (text|binary)/.test(line)).map((line) => line.replace(/^ *\d+/, ''));
    assert.equal(new Set(messages).size, messages.length, stdout);
    await late.close();
    await wire.locator('#proxy-client').selectOption(other.slice(1));
    await wire.locator('#proxy-from').selectOption('client');
    await wire.locator('#proxy-form').selectOption('wire');
    await wire.locator('#proxy-value').fill('89 80 00 00 00 00');
    await wire.locator('#proxy-send button').click();
    await wire.locator('#list li.injected', { hasText: other }).waitFor({ timeout: PATIENCE_MS });
    assert.equal(await wire.locator('#proxy-note').textContent(), '');
    await second.close();
  });
}

/** Pasted bytes take the place of the held messages, and a row of a phone has the text of its message. @param {Stage} stage */
async function checkSizes({ name, wire }) {
  await check(`${name}: pasted bytes overlap nothing, and rows show text at every size`, async () => {
    const before = wire.viewportSize();
    await wire.locator('#paste').fill('8105 4865 6c6c 6f');
    await wire.locator('#paste-form button').click();
    await wire.locator('#frame-title', { hasText: /^text/ }).waitFor();
    for (const [width, height] of [[1440, 900], [1280, 720], [390, 844], [844, 390]]) {
      await wire.setViewportSize({ width, height });
      assert.equal(await wire.locator('#proxy').isVisible(), false);
      const [frames, tools, frame, figure] = await wire.evaluate(() => ['frames', 'copy', 'frame', 'figure'].map((id) => document.getElementById(id).getBoundingClientRect()));
      assert.ok(tools.bottom <= frames.bottom && frames.bottom <= height, `${width}: ${JSON.stringify([tools, frames])}`);
      assert.ok(frame.left >= frames.right || frame.top >= frames.bottom, `${width}: ${JSON.stringify([frames, frame])}`);
      assert.ok(figure.bottom <= height, `${width}: the explanation is visible`);
    }
    await wire.locator('#live').click();
    await wire.locator('#proxy').waitFor();
    for (const [width, height] of [[390, 844], [844, 390]]) {
      await wire.setViewportSize({ width, height });
      await until(async () => await wire.locator('#list li .name').first().evaluate((cell) => cell.clientWidth > 200), `${width}: the text has room`);
    }
    await wire.setViewportSize(before);
  });
}

/** The error of a wrong rule is whole, and overlaps nothing, also on a phone in landscape. @param {Stage} stage */
async function checkRuleError({ name, wire }) {
  await check(`${name}: the error of a rule overlaps no other part`, async () => {
    const before = wire.viewportSize();
    await wire.locator('#proxy-rules').fill('client move: fly');
    await wire.locator('#proxy-rules-form button').click();
    await wire.locator('#proxy-note', { hasText: 'fly is no action' }).waitFor();
    for (const [width, height] of [[1440, 900], [1280, 720], [390, 844], [844, 390]]) {
      await wire.setViewportSize({ width, height });
      const [note, text, form, frame] = await wire.evaluate(() => {
        const part = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
        const written = document.createRange();
        written.selectNodeContents(part('proxy-note'));
        return [part('proxy-note'), written, part('proxy-send'), part('frame')].map((one) => one.getBoundingClientRect());
      });
      assert.ok(text.bottom <= note.bottom + 1 && note.bottom <= form.top, `${width}: ${JSON.stringify([text, note, form])}`);
      assert.ok(frame.left >= note.right || frame.top >= note.bottom || frame.bottom <= note.top, `${width}: ${JSON.stringify([note, frame])}`);
    }
    await wire.setViewportSize(before);
    await wire.locator('#proxy-rules').fill('');
    await wire.locator('#proxy-rules-form button').click();
    await wire.locator('#proxy-note:empty').waitFor({ state: 'attached' });
  });
}

async function tryApp(name, start) {
  const app = await start();
  const capture = `${OUTPUT}between-${name}.pcapng`;
  const proxy = await between(app.port, ['--capture', capture]);
  const context = await browser.newContext({ viewport: SIZES.laptop });
  const complaints = new Complaints();
  const [page, wire] = [await context.newPage(), await context.newPage()];
  complaints.watch(page, name);
  complaints.watch(wire, `${name}: wire`);
  try {
    await wire.goto(proxy.page);
    await checkAddress({ name, proxy, page, wire });
    await waitForLog(page, 'open').catch(() => assert.fail(`${name} did not connect: ${complaints.list.join('\n')}`));

    const stage = { name, proxy, page, wire };
    await checkReadable(stage);
    if (name === 'chat') await checkCompressed(stage);
    await checkHeld(stage);
    await checkInjected(stage);
    await checkRuleError(stage);
    await checkSizes(stage);
    await checkAllClients(stage);
    if (name === 'chat') await checkReopened(stage);
    await check(`${name}: no page complains`, () => assert.deepEqual(complaints.list, []));
  } finally {
    await context.close();
    await proxy.stop();
    app.stop();
  }
  await check(`${name}: explain and tshark read the capture, and agree on the frames`, async () => {
    const explained = execFileSync(binary(), ['explain', capture], { encoding: 'utf8' });
    assert.ok(/hello f|68 65 6c 6c 6f/.test(explained), explained);
    assert.ok(!/\bclose 10(02|07|09)\b/.test(explained), explained);
    const frames = explained.split('\n').filter((line) => /\s[<>] (text|binary|continuation|ping|pong|close)\b/.test(line)).length;
    let dissected;
    try {
      dissected = execFileSync('tshark', ['-r', capture, '-d', `tcp.port==${app.port},http`, '-T', 'fields', '-e', 'websocket.opcode', '-Y', 'websocket'], { encoding: 'utf8' });
    } catch (error) {
      if (error.code === 'ENOENT') return console.log('    tshark is not installed: not compared');
      throw error;
    }
    assert.equal(dissected.trim().split(/[\n,]/).length, frames);
  });
}

const only = process.argv.slice(3);
for (const [name, start] of Object.entries(APPS)) {
  if (only.length === 0 || only.includes(name)) await tryApp(name, start);
}
await browser.close();
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
