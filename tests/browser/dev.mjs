// `dev`: while two pages play pong, a constant of the game is changed and a field is added; the server is rebuilt and replaced, and both go on in
// their bodies, with their points. `node dev.mjs`: it builds a package of its own, in target/tmp/dev.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { until, watchFor } from './lib/browser.mjs';
import { Game } from './lib/game.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const [folder, target] = [`${root}target/tmp/dev`, process.env.CARGO_TARGET_DIR ?? `${root}target`];
const source = `${folder}/src/main.rs`;

/** A package whose only source is the example. Cargo builds the library anew for it, as fast as it can. */
function makePackage() {
  mkdirSync(`${folder}/src`, { recursive: true });
  writeFileSync(`${folder}/Cargo.toml`, `[workspace]\n[package]\nname = "dev-pong"\nversion = "0.1.0"\nedition = "2024"\n
[dependencies]\ntickwire = { path = "../../.." }\n\n[profile.dev]\ndebug = 0\n`);
  copyFileSync(`${root}Cargo.lock`, `${folder}/Cargo.lock`);
  for (const name of ['pong.tsv', 'pong.html']) copyFileSync(`${root}examples/${name}`, `${folder}/src/${name}`);
  copyFileSync(`${root}examples/pong.rs`, source);
  execFileSync('cargo', ['build', '--quiet', '--target-dir', target], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Changes the game. @param {[string, string][]} edits */
function edit(edits) {
  let text = readFileSync(source, 'utf8');
  for (const [from, to] of edits) {
    assert.ok(text.includes(from), from);
    text = text.replace(from, to);
  }
  writeFileSync(source, text);
}

makePackage();
process.env.TICKWIRE_BIN = `${target}/debug/dev-pong`;
process.env.CARGO_MANIFEST_DIR = folder;
process.argv.length = 2;
const game = await new Game().open([], ['dev']);
const { ada, bo } = game;
const log = () => game.server.log();
/** Waits for what the program prints, without a time limit because it compiles; fails if the program ends first. @param {RegExp} text */
async function said(text) {
  while (!text.test(log())) {
    assert.ok(game.server.isRunning(), `the program ended without ${text}:\n${log()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
/** What a page knows of its match. @param {import('playwright-core').Page} page */
const match = (page) => page.evaluate(() => {
  const { left_score, right_score } = window.game.newest('state');
  return { player: window.game.player, left: document.getElementById('left').textContent, right: document.getElementById('right').textContent, left_score, right_score };
});

await game.check('the echo server of a program without optimisations compresses, with a larger stack', async () => {
  const echo = spawn(process.env.TICKWIRE_BIN, ['echo', '--bind', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const url = await new Promise((found) => {
      echo.stdout.setEncoding('utf8').on('data', (text) => { if (/ws:\/\/[^,]*/.test(text)) found(/ws:\/\/[^,]*/.exec(text)[0]); });
    });
    const input = `text ${'0'.repeat(100)}\nexpect text\n`;
    const shown = execFileSync(process.env.TICKWIRE_BIN, ['connect', '--compression', '--dialect', 'none', url], { input, encoding: 'utf8' });
    assert.match(shown, /^< text, compressed, .*"0{100}"/m);
  } finally {
    echo.kill();
  }
});

for (const [page, name] of [[ada, 'Ada'], [bo, 'Bo']]) {
  await page.goto(game.server.url);
  await page.fill('#name', name);
  await page.click('#join button');
  await until(page, () => window.game.player !== null);
}

await game.check('a constant and a field are changed while two play: both go on in their bodies, with their points', async () => {
  await until(ada, () => { const { left_score, right_score } = window.game.newest('state'); return left_score + right_score > 0; }, undefined, 60_000);
  // Nobody scores in the meantime: the ball is slow.
  const before = [await match(ada), await match(bo)];
  game.complaints.outage = true;
  edit([['const BALL_SPEED: i32 = 380;', 'const BALL_SPEED: i32 = 40;'], ['        winner: Option<PlayerId>,\n    }\n}\n\nimpl',
    '        winner: Option<PlayerId>,\n        strokes: u32,\n    }\n}\n\nimpl'], ['serve_in: 0, winner: None }', 'serve_in: 0, winner: None, strokes: 0 }']]);
  // Without a time limit: before the pages lose the server, it is built.
  const lost = [ada, bo].map((page) => watchFor(page, () => window.game.player === null, undefined, 0));
  await said(/dev: built in \d+ ms, replaced in \d+ ms/);
  await Promise.all(lost);
  const from = performance.now();
  await Promise.all([ada, bo].map((page) => until(page, () => window.game.player !== null)));
  const ms = Math.round(performance.now() - from);
  const after = [await match(ada), await match(bo)];
  for (const at of [0, 1]) {
    for (const name of ['player', 'left', 'right']) assert.equal(after[at][name], before[at][name]);
    // A point may have been made while cargo was at work; none is lost.
    assert.ok(after[at].left_score >= before[at].left_score && after[at].right_score >= before[at].right_score);
  }
  assert.match(log(), /the default room continues after tick \d+: 2 players may resume/);
  assert.match(log(), /game\.strokes is new/);
  return `${/dev: built in .*/.exec(log())[0]}; both are back ${ms} ms later`;
});

await game.check('a mistake in the source leaves the server as it is', async () => {
  edit([['const TO_WIN: u8 = 11;', 'const TO_WIN: u8 = eleven;']]);
  await said(/dev: the build failed; the server goes on as it is/);
  assert.notEqual((await match(ada)).player, null);
});

await game.check('a page that is loaded again comes back to its body, too', async () => {
  const before = await match(bo);
  await bo.reload();
  // Both sides are taken, so that the page does not ask; the player may nevertheless come back.
  await until(bo, () => window.game?.newest('state'));
  await bo.evaluate(() => window.game.join({ name: 'Bo' }));
  await until(bo, () => window.game.player !== null && window.game.newest('state') !== null);
  assert.equal((await match(bo)).player, before.player);
});

// The last one: the mistake above is mended together with a new one.
await game.check('a table that does not load leaves the server as it is', async () => {
  const table = `${folder}/src/pong.tsv`;
  writeFileSync(table, readFileSync(table, 'utf8').replace('\tlatest\t', '\tlately\t'));
  edit([['const TO_WIN: u8 = eleven;', 'const TO_WIN: u8 = 11;']]);
  await said(/dev: the new program does not start; the server goes on as it is/);
  assert.match(log(), /pong\.tsv/);
  assert.notEqual((await match(ada)).player, null);
});

await game.browser.close();
const { code } = await game.server.stop();
assert.equal(code, 0, log());
assert.deepEqual(game.complaints.list, []);
if (game.failed > 0) console.log(log().replace(/^/gm, '    '));
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exit(game.failed === 0 ? 0 : 1);
