// The inspector of a player with a lane: the player loses, delays and repeats some of its
// datagrams, and the page shows the outcome of each. `node wire-lane.mjs [path of the server]`;
// screenshots go to tests/output/.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Complaints, keep, launch, until } from './lib/browser.mjs';
import { FLAGS } from './lib/game.mjs';
import { LanePlayer } from './lib/lane-player.mjs';
import { start } from './lib/server.mjs';

const SAVED = fileURLToPath(new URL('../output/wire-lane.pcapng', import.meta.url));
const SIZES = { desk: { width: 1440, height: 900 }, laptop: { width: 1280, height: 720 }, phone: { width: 390, height: 844 } };
const DELAY_MS = 75;
const PATIENCE_MS = 20000;
/** Faults of datagrams, by their number modulo 40. */
const UP = { 10: 'lose', 11: 'lose', 20: 'late', 30: 'repeat' };
const DOWN = { 12: 'lose', 25: 'late' };

const server = await start(0, [...FLAGS, '--lane', 'udp']);
const browser = await launch();
const complaints = new Complaints();
const page = await (await browser.newContext({ viewport: SIZES.desk, acceptDownloads: true })).newPage();
complaints.watch(page, 'wire');
page.setDefaultTimeout(PATIENCE_MS);
let [passed, failed] = [0, 0];

async function check(name, body) {
  if (failed > 0) return;
  try {
    await body();
    passed += 1;
    console.log(`ok ${passed} - ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
  }
}

/** Connects the player after the page, so that the page shows its first datagrams. @returns {Promise<LanePlayer>} */
async function play() {
  const player = new LanePlayer(server.port, (way, number) => (way === 'up' ? UP : DOWN)[number % 40] ?? null, DELAY_MS);
  await player.ready;
  return player;
}

async function filter(text) {
  await page.locator('#filter').fill(text);
  await page.waitForFunction((typed) => document.querySelector('#filter').dataset.read === typed, text);
  // The lines are drawn before the next frame.
  await page.evaluate(() => new Promise((drawn) => { requestAnimationFrame(() => requestAnimationFrame(drawn)); }));
}

/** The rows in view: number, names, facts, state. */
const rows = () => page.locator('#list li').evaluateAll((all) => all.map((line) => ({
  n: Number(line.dataset.n),
  from: line.dataset.from,
  state: line.dataset.state,
  chip: line.querySelector('.name b')?.textContent ?? null,
  // Between the number of a datagram and the values of a frame.
  name: [...line.querySelector('.name').childNodes].find(({ nodeType }) => nodeType === Node.TEXT_NODE)?.textContent ?? '',
  trip: line.querySelector('.trip').textContent,
  title: line.title,
})));

/** Waits for a row in view. @param {(row: any) => boolean} wanted */
async function rowThat(wanted, what) {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    const all = await rows();
    const found = all.find(wanted);
    if (found) return found;
    if (performance.now() > end) assert.fail(`no row ${what}: ${JSON.stringify(all)}`);
    await page.waitForTimeout(100);
  }
}

/** Chooses a row in view, after the list was stopped. On a busy machine, a row may move before the click. @param {(row: any) => boolean} wanted */
async function choose(wanted, what) {
  for (const end = performance.now() + 3 * PATIENCE_MS; ;) {
    await follow();
    await rowThat(wanted, what);
    await page.locator('#follow').click();
    const row = await rowThat(wanted, what);
    await page.locator(`#list li[data-n="${row.n}"]`).click();
    const isChosen = await page.locator(`#chosen[data-n="${row.n}"]`).waitFor({ timeout: PATIENCE_MS / 4 }).then(() => true, () => false);
    if (isChosen) return row;
    if (performance.now() > end) assert.fail(`row ${row.n} cannot be chosen`);
  }
}

const follow = async () => {
  if (await page.locator('#follow').getAttribute('aria-pressed') === 'false') await page.locator('#follow').click();
};
const names = () => page.locator('#tree .name').allInnerTexts().then((all) => all.map((name) => name.replace(/[▾▸]/g, '').trim()));
const modulo = ({ chip }) => Number(chip?.slice(1)) % 40;

let player = /** @type {any} */ (null);
try {
  await check('datagrams are rows among the frames, in order, with numbers, packets and acknowledgements', async () => {
    await page.goto(`${server.url}/wire`);
    await page.locator('#status[data-state="open"]').waitFor();
    player = await play();
    await rowThat(({ chip, name }) => chip !== null && name === 'update', 'with an update by datagram');
    await filter('from client datagram');
    await rowThat(({ name, trip }) => /^move( ×\d+)?$/.test(name) && /^✓\d+$/.test(trip), 'with a move that acknowledges');
    await filter('');
    // The stream carries the first command as well, and its ack.
    await rowThat(({ chip, name }) => chip === null && name === 'command_accepted', 'of a frame among the datagrams');
    const all = await rows();
    assert.deepEqual(all.map(({ n }) => n), all.map(({ n }) => n).sort((a, b) => a - b));
    for (const from of ['client', 'server']) {
      const regular = all.filter((row) => row.from === from && row.chip !== null && row.state === '').map(({ chip }) => Number(chip.slice(1)));
      assert.deepEqual(regular, [...regular].sort((a, b) => a - b), 'regular datagrams are in order');
    }
  });

  await check('rows show late, repeated, missing and lost datagrams of both directions, and no others', async () => {
    await follow();
    await filter('lost');
    const gap = await rowThat(({ chip, from, state }) => chip === null && from === 'client' && state === 'lost', 'for lost datagrams of the client');
    const [, first, last] = /** @type {RegExpExecArray} */ (/^D(\d+) to D(\d+) lost$/.exec(gap.name));
    assert.deepEqual([Number(first) % 40, Number(last) % 40], [10, 11]);
    const lost = await rowThat(({ chip, from }) => chip !== null && from === 'server', 'of a lost datagram of the server');
    assert.equal(modulo(lost), 12);
    assert.match(lost.title, /^Datagram \d+ from the server.*Lost: the client has acknowledged 33 newer ones/);
    await filter('late from client');
    const late = await rowThat(({ chip, state }) => chip !== null && state === 'late', 'of a late datagram of the client');
    assert.equal(modulo(late), 20);
    assert.match(late.trip, /^late [\d.]+ ms$/);
    await filter('late from server');
    assert.equal(modulo(await rowThat(({ chip, from, state }) => chip !== null && from === 'server' && state === 'late', 'of a late datagram of the server')), 25);
    await filter('repeated');
    const repeated = await rowThat(({ chip }) => chip !== null, 'of a repeated datagram');
    assert.deepEqual([modulo(repeated), repeated.name, repeated.state], [30, 'repeated', 'dropped']);
    await filter('datagram -late -lost -repeated -missing');
    for (const row of await rows()) {
      if (row.state !== '' && row.state !== 'late' && row.state !== 'lost') assert.fail(JSON.stringify(row));
    }
  });

  await check('the wait of an update on a stream is in its row and in the strip, with its rule', async () => {
    await filter('held from server');
    await follow();
    const held = await rowThat(({ trip, from }) => from === 'server' && trip.includes('stream +'), 'that a stream would have held');
    assert.ok(modulo(held) > 12 && modulo(held) < 25, 'it follows a lost datagram');
    await page.locator('#lane-strip').waitFor();
    await until(page, () => /^\d+ held up to [\d.]+ ms on a stream · \d+ of \d+ lost$/.test(document.querySelector('#waits-words').textContent));
    await page.locator('#lane-strip summary').click();
    await page.locator('#waits-rule', { hasText: 'one round trip after the first later segment' }).waitFor();
    await keep(page, 'wire-lane-rule');
    await page.locator('#lane-strip summary').click();
    await choose(({ trip }) => trip.includes('stream +'), 'that a stream would have held');
    assert.match(await page.locator('#frame-lane').innerText(), /On a stream it would have waited about [\d.]+ ms for a missing segment, .* one round trip after the first later segment/);
  });

  await check('a chosen datagram is drawn bit by bit: its header, whose acknowledgement bits have numbers, and its messages', async () => {
    await filter('move datagram from client');
    // After lost datagrams, a row shows the wait on a stream instead of the acknowledged number.
    const row = await choose(({ name, trip }) => /^move ×[2-9]/.test(name) && /^✓\d+$/.test(trip), 'with several commands that acknowledges');
    const number = row.chip.slice(1);
    assert.match(await page.locator('#frame-title').innerText(), new RegExp(`^datagram ${number}: move ×`));
    const boxes = await page.locator('#figure .box').evaluateAll((all) => all.map((box) => ({
      name: box.querySelector('.name').textContent, bits: box.querySelector('.bits').textContent, value: box.querySelector('.value').textContent })));
    assert.equal(boxes.map(({ bits }) => bits).join('').length, 96, 'twelve bytes');
    assert.deepEqual(boxes.slice(0, 4).map(({ name }) => name), ['connection', 'connection goes on', 'sequence', 'newest']);
    assert.deepEqual([boxes[2].value, Number.parseInt(boxes[2].bits, 2)], [number, Number(number)]);
    assert.equal(`✓${boxes[3].value}`, row.trip);
    const newest = Number(boxes[3].value);
    const runs = boxes.slice(4).filter(({ name }) => !name.endsWith('goes on')).map(({ name }) => name.split(' to ').map(Number));
    assert.deepEqual([runs[0][0], runs.at(-1).at(-1)], [newest - 32, newest - 1], 'each bit has a number');
    const all = await names();
    for (const name of ['commands', 'first', 'tick', 'step', 'count', 'same', 'code', 'arguments', 'direction', 'received']) assert.ok(all.includes(name), `${name}: ${all}`);
    assert.ok(all.some((name) => /^command \d+$/.test(name)) && all.some((name) => /^body of \d+$/.test(name)), `${all}`);
    await keep(page, 'wire-lane-commands');
    await filter('update datagram from server');
    await choose(({ name }) => name === 'update', 'with an update');
    const update = await names();
    for (const name of ['received', 'packet', 'kind', 'length', 'payload', 'update', 'own']) assert.ok(update.includes(name), `${name}: ${update}`);
  });

  await check('datagrams cannot be edited or sent, and a dropped one shows its rule', async () => {
    assert.equal(await page.locator('#flip').isVisible(), false);
    await page.locator('#list').focus();
    await page.keyboard.press('e');
    assert.equal(await page.locator('#editor').isVisible(), false);
    assert.match(await page.locator('#frame-lane').innerText(), /not edited or sent\.$/);
    await filter('repeated');
    await choose(({ chip }) => chip !== null, 'of a repeated datagram');
    assert.match(await page.locator('#frame-problem').innerText(), /^datagram_repeated the datagram has arrived before\./);
    await keep(page, 'wire-lane-repeated');
  });

  await check('pages of all sizes show the datagrams', async () => {
    await filter('');
    await follow();
    for (const [name, size] of Object.entries(SIZES)) {
      await page.setViewportSize(size);
      await rowThat(({ chip }) => chip !== null, `at ${name}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      assert.equal(wide, false, `${name} needs no scrolling to the right`);
      await keep(page, `wire-lane-${name}`);
    }
    await page.setViewportSize(SIZES.desk);
  });

  await check('a saved capture shows the same datagrams with the same outcomes', async () => {
    await page.locator('#pause').click();
    await filter('lost from server');
    const live = (await rows()).filter(({ chip }) => chip !== null).map(({ chip }) => chip);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#save').click()]);
    await download.saveAs(SAVED);
    await page.locator('#file').setInputFiles(SAVED);
    await page.locator('main[data-source="file"]').waitFor();
    await filter('lost from server');
    const last = live.at(-1);
    await rowThat(({ chip }) => chip === last, `of ${last} in the file`);
    await filter('late from client');
    assert.equal(modulo(await rowThat(({ chip, state }) => chip !== null && state === 'late', 'of a late datagram in the file')), 20);
    await page.locator('#list li').last().click();
    await page.locator('#figure .box', { hasText: 'newest' }).first().waitFor();
    await keep(page, 'wire-lane-file');
  });

  await check('no page error, console error, warning or failed request', () => assert.deepEqual(complaints.list, []));
} finally {
  if (failed > 0) await keep(page, 'failed-wire-lane');
  player?.close();
  await browser.close();
  await server.stop().catch(() => server.kill());
}
if (failed > 0) console.log(`the server's log:\n${server.log().replace(/^/gm, '    ')}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
