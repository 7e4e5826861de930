// A capture is watched again in the page: bots play on a server that captures, and the capture is opened by `tickwire replay --serve`, by a link to a tick,
// with the inspector beside it, and in the tab edition from a file, where there is no server. `node watch.mjs [path of the server]`

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Complaints, keep, launch, press, state, until } from './lib/browser.mjs';
import { binary, start } from './lib/server.mjs';
import { serve, tabEdition } from './lib/static.mjs';

const PROGRAM = binary();
const VIEWPORT = { width: 1280, height: 720 };
const folder = mkdtempSync(join(tmpdir(), 'tickwire-watch-'));
const file = join(folder, 'session.pcapng');
const complaints = new Complaints();
let passed = 0;
let failed = 0;

/** Runs one check; what it throws is printed and counted. @param {string} name @param {() => any} body */
async function check(name, body) {
  const from = performance.now();
  try {
    const note = await body();
    passed += 1;
    console.log(`ok ${passed + failed} - ${name} (${Math.round(performance.now() - from)} ms)${note ? `: ${note}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
  }
}

// A server with two rooms, and bots that play in both.
const server = await start(0, ['--capture', file, '--room', 'arena', '--map-size', '3600']);
for (const room of ['', 'r/arena/']) {
  execFileSync(PROGRAM, ['bots', '--play', '--count', '8', '--seconds', '4', `ws://127.0.0.1:${server.port}/${room}`], { stdio: 'ignore' });
}
await server.stop();
const report = JSON.parse(execFileSync(PROGRAM, ['replay', file, '--json'], { encoding: 'utf8' }));

const again = spawn(PROGRAM, ['replay', '--serve', file, '--bind', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
const ended = new Promise((done) => { again.on('exit', done); });
let said = '';
const url = await new Promise((done, fail) => {
  again.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
    const found = /watch +(http:\S+)[^]*\n\n/.exec(said);
    if (found) done(found[1]);
  });
  again.on('exit', () => fail(new Error(`it has ended: ${said}`)));
});

const browser = await launch();
const context = await browser.newContext({ viewport: VIEWPORT });
const page = await context.newPage();
complaints.watch(page, 'page');
/** @param {import('playwright-core').Page} [of] */
const watch = (of = page) => state(of, 'watch');
/** Waits until a tick is seen. @param {number} tick @param {import('playwright-core').Page} [of] */
const sees = (tick, of = page) => until(of, (wanted) => window.tickwire.watch.tick === wanted && window.tickwire.watch.seeking === null, tick);
/** @param {import('playwright-core').Page} [of] */
const read = (of = page) => until(of, () => window.tickwire?.watch?.isWhole && window.tickwire.watch.indexed === window.tickwire.watch.last);
/** The seen checksum is the recorded one. @param {import('playwright-core').Page} [of] */
const agrees = async (of = page) => {
  const { tick, checksums: [seen, recorded], differs } = await watch(of);
  assert.equal(differs, null);
  assert.equal(seen, recorded, `tick ${tick}`);
};
/** Presses at a part of the time line. @param {number} part */
async function pressTime(part) {
  const box = await page.locator('#watch .time').boundingBox();
  await page.mouse.click(box.x + part * box.width, box.y + box.height / 2);
}

await check('its address leads to the capture, and it plays at once', async () => {
  await page.goto(url);
  assert.match(page.url(), /\/\?capture=capture\.pcapng/);
  await until(page, () => window.tickwire?.watch?.tick > 3 && Object.keys(window.tickwire.players).length > 0);
  await read();
  const { first, last, playing, differs, players } = await watch();
  assert.deepEqual([playing, differs], [true, null]);
  assert.ok(last - first > 100 && players.length > 0, `${first} to ${last}, ${players.length} players`);
  assert.equal(await page.locator('#watch .message').isVisible(), false);
  assert.equal(await page.locator('#title').isVisible(), false);
  return `first picture after ${Math.round((await watch()).times.first)} ms, ticks ${first} to ${last}`;
});

await check('the players have the names of the game: in the world, in the leaders and in the menu', async () => {
  const { players, last } = await watch();
  assert.deepEqual(players.filter(([, name]) => !/^bot \d+$/.test(name)), [], `at tick ${last}`);
  const drawn = await page.evaluate(() => Object.values(window.tickwire.players).map(({ name }) => name));
  assert.ok(drawn.length > 0);
  assert.deepEqual(drawn.filter((name) => !/^bot \d+$/.test(name)), []);
  const menu = await page.locator('#watch .follow option').allTextContents();
  assert.ok(menu.length > 1 && menu.slice(1).every((name) => /^bot \d+$/.test(name)), menu.join(', '));
  await page.locator('#board').filter({ hasText: /bot \d/ }).waitFor();
  return drawn.sort().join(', ');
});

await check('space pauses: time stands still, for the picture too; comma and point go by one tick', async () => {
  await page.keyboard.press(' ');
  const { tick, playing } = await watch();
  assert.equal(playing, false);
  await new Promise((done) => { setTimeout(done, 300); });
  assert.equal((await watch()).tick, tick);
  await page.keyboard.press('.');
  await sees(tick + 1);
  await agrees();
  await page.keyboard.press(',');
  await sees(tick);
  await agrees();
  await until(page, (wanted) => location.hash === `#tick=${wanted}`, tick);
});

await check('a press on the time line goes there, and a drag along it', async () => {
  const { first, last } = await watch();
  await pressTime(0.5);
  await until(page, ([low, high]) => window.tickwire.watch.seeking === null && window.tickwire.watch.tick > low && window.tickwire.watch.tick < high,
    [first + (last - first) * 0.45, first + (last - first) * 0.55]);
  await agrees();
  const box = await page.locator('#watch .time').boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
  await page.mouse.down();
  for (let part = 0.5; part < 0.9; part += 0.05) await page.mouse.move(box.x + box.width * part, box.y + 20);
  await page.mouse.up();
  await until(page, (low) => window.tickwire.watch.seeking === null && window.tickwire.watch.tick > low, first + (last - first) * 0.8);
  await agrees();
  return `the last seek took ${(await watch()).times.seek.toFixed(1)} ms`;
});

await check('arrows, Home and End seek; at the end the checksum is that of the replay', async () => {
  const { first, last, tick_hz: hz } = await watch();
  await page.keyboard.press('Home');
  await sees(first + 1);
  await page.keyboard.press('ArrowRight');
  await sees(Math.min(first + 1 + 5 * hz, last));
  await page.keyboard.press('ArrowLeft');
  await sees(first + 1);
  await page.keyboard.press('End');
  await sees(last);
  const rooms = report.rooms ?? [report];
  const own = rooms.find(({ room = '' }) => room === '') ?? rooms[0];
  assert.equal((await watch()).checksums[0], own.checksum, JSON.stringify(report).slice(0, 400));
});

await check('at 16 times the speed the capture plays to its end, and stops there', async () => {
  await page.keyboard.press('Home');
  await page.locator('#watch .speed select').selectOption('16');
  const { first, last } = await watch();
  await sees(first + 1);
  await press(page, '#watch .play');
  await until(page, (wanted) => window.tickwire.watch.tick === wanted && !window.tickwire.watch.playing, last);
  await page.locator('#watch .speed select').selectOption('1');
  return `${last - first} ticks`;
});

await check('one follows whom one chooses', async () => {
  await pressTime(0.5);
  await until(page, () => window.tickwire.watch.seeking === null && Object.keys(window.tickwire.players).length > 1);
  // The dead cannot be followed: of those in view.
  for (const id of Object.keys(await state(page, 'players')).slice(0, 3).map(Number)) {
    await page.locator('#watch .follow select').selectOption(String(id));
    await until(page, (wanted) => window.tickwire.spectated === wanted, id);
  }
  await keep(page, 'watch');
});

await check('a link to a tick opens it there, and it stands', async () => {
  const { last } = await watch();
  const other = await context.newPage();
  complaints.watch(other, 'link');
  await other.goto(`${url}?capture=capture.pcapng#tick=${last - 7}`);
  await sees(last - 7, other);
  assert.equal((await watch(other)).playing, false);
  await read(other);
  await agrees(other);
  await other.evaluate(() => { location.hash = 'tick=20'; });
  await sees(20, other);
  await other.close();
});

await check('the inspector beside it is at the same time, and moves it', async () => {
  await page.keyboard.press('Escape');
  await press(page, '#watch .wire');
  const frame = page.frameLocator('#wire');
  await frame.locator('#list li.chosen').waitFor();
  const ms = async () => {
    const [minutes, seconds] = (await frame.locator('#list li.chosen .time').innerText()).split(':');
    return 60_000 * Number(minutes) + 1000 * Number(seconds);
  };
  for (const part of [0.7, 0.3]) {
    await pressTime(part);
    await until(page, () => window.tickwire.watch.seeking === null);
    const wanted = await page.evaluate(() => window.tickwireWatch.ms);
    for (let tries = 0; Math.abs((await ms()) - wanted) > 100; tries += 1) {
      assert.ok(tries < 100, `${await ms()}, not ${wanted}`);
      await new Promise((done) => { setTimeout(done, 100); });
    }
  }
  const before = (await watch()).tick;
  await frame.locator('#list li.chosen').click();
  // Of the frames behind it, the first ones may be of the same tick.
  for (let tries = 0; (await watch()).tick === before; tries += 1) {
    assert.ok(tries < 40, 'the page stays where it was');
    await page.keyboard.press('ArrowDown');
    await until(page, () => window.tickwire.watch.seeking === null);
  }
  // On a busy machine, the last of the pressed keys may not have arrived yet.
  let there = NaN;
  for (let tries = 0; there !== await ms(); tries += 1) {
    assert.ok(tries < 20, 'the chosen frame stays chosen');
    there = await ms();
    await new Promise((done) => { setTimeout(done, 500); });
  }
  const here = await page.evaluate(() => window.tickwireWatch.ms);
  assert.ok(Math.abs(there - here) < 100, `${there} and ${here}`);
  await keep(page, 'watch-wire');
  await press(page, '#watch .wire');
  assert.equal(await page.locator('#wire').isVisible(), false);
});

await check('the other room has its own address', async () => {
  await page.goto(`${url}r/arena/`);
  await until(page, () => window.tickwire?.watch?.tick > 0);
  assert.equal((await watch()).room, 'arena');
  await read();
  await page.locator('#watch .room').waitFor();
  assert.deepEqual(complaints.list, []);
});

await check('there is no game behind it, no wire and no admin', async () => {
  for (const [path, status] of [['admin', 404], ['wire', 404], ['metrics', 404], ['play', 404], ['rooms', 404], ['../session.pcapng', 404], ['r/none/', 404]]) {
    assert.equal((await fetch(`${url}${path}`)).status, status, path);
  }
  assert.equal((await fetch(url, { method: 'POST' })).status, 405);
  assert.equal((await fetch(`${url}capture.pcapng`)).headers.get('content-length'), String((await (await fetch(`${url}capture.pcapng`)).arrayBuffer()).byteLength));
});

await check('the page fits a phone, and a desk', async () => {
  for (const [width, height] of [[1440, 900], [390, 844], [844, 390]]) {
    await page.setViewportSize({ width, height });
    for (const part of ['.play', '.time', '.clock b', '.speed select', '.follow select', '.wire']) {
      const box = await page.locator(`#watch ${part}`).boundingBox();
      assert.ok(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${part} at ${width} × ${height}: ${JSON.stringify(box)}`);
    }
    await keep(page, `watch-${width}`);
  }
  await page.setViewportSize(VIEWPORT);
});

await check('the tab edition watches a file that is chosen, without a server', async () => {
  const site = await serve(tabEdition());
  const tab = await context.newPage();
  complaints.watch(tab, 'tab');
  await tab.goto(`${site.url}?capture`);
  await tab.locator('#watch .message .choose').waitFor();
  await tab.locator('#watch input[type=file]').setInputFiles(file);
  await until(tab, () => window.tickwire?.watch?.tick > 3);
  await read(tab);
  await tab.keyboard.press('End');
  await sees((await watch(tab)).last, tab);
  assert.equal((await watch(tab)).differs, null);
  assert.equal(await tab.locator('#watch .link').isVisible(), false, 'there is no address to link to');
  await tab.close();
  await site.cut();
});

await check('tanks, whose page is made with tickwire.js, is watched in the same way', async () => {
  const tanks = join(folder, 'tanks.pcapng');
  const other = await start(0, ['--game', 'tanks', '--capture', tanks]);
  execFileSync(PROGRAM, ['bots', '--play', '--count', '3', '--seconds', '4', `ws://127.0.0.1:${other.port}/`], { stdio: 'ignore' });
  await other.stop();
  const child = spawn(PROGRAM, ['replay', '--serve', tanks, '--bind', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const its = await new Promise((done) => { child.stdout.setEncoding('utf8').on('data', (text) => done(/http:\S+/.exec(text)?.[0])); });
  const shown = await context.newPage();
  complaints.watch(shown, 'tanks');
  await shown.goto(`${its}?capture=capture.pcapng#tick=210`);
  await shown.locator('#watch .clock b', { hasText: '0:03.5' }).waitFor();
  await shown.keyboard.press('.');
  await shown.locator('#watch .clock b', { hasText: /0:03\.5/ }).waitFor();
  await shown.keyboard.press(' ');
  await shown.locator('#watch .clock b', { hasText: '0:04' }).waitFor();
  await until(shown, () => document.querySelectorAll('#scores tr').length > 0);
  assert.equal(await shown.locator('#watch .message').isVisible(), false);
  assert.equal(await shown.locator('form').isVisible(), false);
  await keep(shown, 'watch-tanks');
  await shown.close();
  child.kill('SIGINT');
});

await check('what is no capture is refused in words', async () => {
  await page.goto(`${url}?capture=game/main.js`);
  await page.locator('#watch .message', { hasText: /cannot be read: at byte 0/ }).waitFor();
  await page.goto(`${url}?capture=https://example.invalid/x`);
  await page.locator('#watch .message', { hasText: /another site/ }).waitFor();
});

await check('Ctrl-C ends it; no page error, console error, warning or failed request', async () => {
  again.kill('SIGINT');
  assert.equal(await ended, 0);
  assert.deepEqual(complaints.list, []);
});
if (failed > 0) await keep(page, 'failed-watch');
await browser.close();
if (again.exitCode === null) again.kill('SIGKILL');
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
