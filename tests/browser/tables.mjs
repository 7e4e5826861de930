// A page that plays while its server comes back with other packet tables: every code is another, an argument is wider, an optional packet of each
// direction is missing. Then the inspector, live and with the server's capture. Real keys, the real server. `node tables.mjs [path of the server]`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keep, state, until } from './lib/browser.mjs';
import { DESKTOP, FLAGS, Game, walk } from './lib/game.mjs';
import { binary, start } from './lib/server.mjs';
import { TABLES } from './lib/table-files.mjs';

/** What the native dialect lacks in the other tables. */
const MISSING = ['to_server map_ping', 'to_client leaderboard'];

/** Gives each packet of a direction the code of the next one, in the dialect of a column. @param {string[][]} lines */
function rotate(lines, direction, column) {
  const rows = lines.filter((cells) => cells[0] === direction && cells[column] !== '-');
  const codes = rows.map((cells) => cells[column]);
  rows.forEach((cells, at) => { cells[column] = codes[(at + 1) % codes.length]; });
}

/** Writes the other tables. @param {string} folder */
async function writeTables(folder) {
  await mkdir(folder, { recursive: true });
  for (const [file, own] of TABLES) {
    let lines = own.trimEnd().split('\n').map((line) => line.split('\t'));
    if (file === 'native.tsv') lines = lines.filter(([direction, name]) => !MISSING.includes(`${direction} ${name}`));
    for (const direction of ['to_server', 'to_client']) {
      for (let column = 3; column < lines[0].length - 2; column += 1) rotate(lines, direction, column);
    }
    const text = lines.map((cells) => `${cells.join('\t')}\n`).join('');
    await writeFile(join(folder, file), text.replace('moved:[player:u16,', 'moved:[player:u32,'));
  }
}

const folder = await mkdtemp(join(tmpdir(), 'tickwire-tables-'));
const capture = join(folder, 'session.pcapng');
const game = await new Game().open(FLAGS);
const { ada, bo } = game;

/** Every name of a packet that the inspector's lines show now. @param {import('playwright-core').Page} page */
const names = (page) => page.locator('#list li').evaluateAll((all) => all.map((line) => line.querySelector('.name').firstChild?.textContent));

async function returning() {
  await game.check('a page plays with the built-in tables', async () => {
    await ada.goto(game.server.url);
    await until(ada, () => window.tickwire.state === 'live');
    await ada.keyboard.type('Ada');
    await ada.keyboard.press('Enter');
    await until(ada, () => window.tickwire.own !== null);
    await walk(ada, ['d', 's', 'a', 'w'], 40);
  });
  await game.check('the server comes back with other tables, and the page comes back into play with them', async () => {
    const { port } = game.server;
    const epoch = await state(ada, 'epoch');
    game.complaints.outage = true;
    await game.server.stop();
    await writeTables(join(folder, 'tables'));
    game.server = await start(port, [...FLAGS, '--codes', join(folder, 'tables'), '--capture', capture]);
    await until(ada, (before) => window.tickwire.state === 'live' && window.tickwire.epoch !== before && window.tickwire.own !== null, epoch);
    game.complaints.outage = false;
    await walk(ada, ['d', 's', 'a', 'w'], 40);
    assert.equal((await state(ada, 'stats')).undecodable, 0);
  });
}

async function playing() {
  await game.check('a second page joins, and both see each other, move and talk', async () => {
    await bo.goto(game.server.url);
    await until(bo, () => window.tickwire.state === 'live');
    await bo.keyboard.type('Bo');
    await bo.keyboard.press('Enter');
    await game.readIds();
    await until(ada, (id) => window.tickwire.players[id]?.name === 'Bo', game.ids.bo);
    await until(bo, (id) => window.tickwire.players[id]?.name === 'Ada', game.ids.ada);
    await ada.bringToFront();
    await ada.keyboard.press('Enter');
    await ada.keyboard.type('hello there');
    await ada.keyboard.press('Enter');
    await bo.locator('#log', { hasText: 'hello there' }).waitFor();
  });
  await game.check('a key whose packet these tables do not have does nothing, and the game goes on', async () => {
    await ada.keyboard.press('c');
    await ada.locator('#clan-name').click();
    await ada.keyboard.type('OAK');
    await ada.keyboard.press('Enter');
    await until(ada, () => window.tickwire.clans.own !== null);
    await ada.keyboard.press('Escape');
    await ada.locator('#clan').waitFor({ state: 'hidden' });
    await ada.keyboard.press('r');
    assert.deepEqual((await state(bo, 'leaderboard')).rows, []);
    await walk(ada, ['a', 'w', 'd', 's'], 40);
    await keep(ada, 'tables');
  });
}

async function inspecting() {
  const wire = await game.page('wire', { viewport: DESKTOP });
  await game.check('the inspector names the packets live', async () => {
    await wire.goto(`${game.server.url}/wire`);
    await wire.locator('#list li').first().waitFor({ timeout: 15000 });
    await ada.bringToFront();
    await walk(ada, ['d', 's', 'a', 'w'], 40);
    await wire.bringToFront();
    await wire.locator('#list li[data-packet="update"]').first().waitFor({ timeout: 15000 });
    assert.ok((await names(wire)).every((name) => !/^\d+$|unknown/.test(name)), String(await names(wire)));
  });
  await game.check('it opens the capture of the server by the tables in it', async () => {
    await game.server.stop();
    game.complaints.outage = true;
    await wire.setInputFiles('#file', capture);
    const told = execFileSync(binary(), ['explain', capture]).toString().split('\n').filter((line) => /^ +\d+ +[\d.]+ +\d+ +[<>] /.test(line));
    await wire.locator('#note', { hasText: `${told.length} frames` }).waitFor({ timeout: 15000 });
    const update = wire.locator('#list li[data-packet="update"]').first();
    await update.click({ timeout: 15000 });
    const line = await wire.locator('#frame-line').innerText();
    assert.match(line, /update tick=\d+/);
    assert.ok(told.some((one) => one.endsWith(line)), line);
    await keep(wire, 'tables-capture');
  });
}

try {
  for (const part of [returning, playing, inspecting]) if (game.failed === 0) await part();
  await game.check('no page error, console error, warning or failed request', () => {
    assert.deepEqual(game.complaints.list.filter((line) => !/ERR_CONNECTION_REFUSED/.test(line)), []);
  });
} finally {
  await game.browser.close();
  await game.server.stop().catch(() => game.server.kill());
  await rm(folder, { recursive: true, force: true });
}
if (game.failed > 0) console.log(`the server's log:\n${game.server.log().replace(/^/gm, '    ')}`);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
