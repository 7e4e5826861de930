// Lockstep in the page: three pages play together, two of which run the world themselves; a fourth joins late; a field of one world is changed, and
// named, and the world comes back. Then two clients side by side in the tab edition. `node lockstep.mjs [path of the server]`; MINUTE=1 plays for
// a minute, as long as the checks take otherwise.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, press, state, until } from './lib/browser.mjs';
import { FLAGS, Game, Walker, alive, click, rest, walk } from './lib/game.mjs';
import { serve, tabEdition } from './lib/static.mjs';
import { point, turnToRoom } from './parts/building.mjs';

const CHECKSUM_TICKS = 30;
const SNAPSHOT_TICKS = 200;
const PLAY_MS = process.env.MINUTE ? 60_000 : 15_000;
const WALL = 3;
const WALL_SLOT = `[data-slot="item-${WALL}"]`;
/** A page knows its own place exactly, and others' to half a pixel. */
const SLACK_PX = 1;
const VIEWPORT = { width: 1280, height: 800 };

const game = await new Game().open([...FLAGS, '--checksum-interval-ticks', String(CHECKSUM_TICKS), '--snapshot-interval-ticks', String(SNAPSHOT_TICKS)]);
const { ada, bo, server } = game;
const cy = await game.page('cy', { viewport: VIEWPORT });
const late = await game.page('late', { viewport: VIEWPORT });
const world = (page) => state(page, 'lockstep');

/** A number of the server, of the default room. @param {string} name */
async function metric(name) {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.includes(name) && !one.startsWith('#'));
  assert.ok(line, `no metric ${name}`);
  return Number(line.split(' ')[1]);
}

/** Waits until a page has sent so many more checksums; the server's answer to the last but one would have come. */
async function checked(page, more) {
  const { checksums } = await world(page);
  await until(page, (wanted) => window.tickwire.lockstep.checksums >= wanted, checksums + more + 1);
}

async function join(page, name, query) {
  await page.goto(`${server.url}/${query}`);
  await until(page, () => window.tickwire?.state === 'live');
  if (query !== '') await until(page, () => window.tickwire.lockstep.tick > 0);
  await page.fill('#name', name);
  await press(page, '#play');
  await until(page, () => window.tickwire.own !== null);
  return state(page, 'id');
}

/** All players as a page has them, once everybody stands: their places and health. */
async function seen(page, ids) {
  const players = await state(page, 'players');
  return ids.map((id) => (players[id] ? [id, players[id].x, players[id].y, players[id].health] : [id]));
}

/** Pages know the same of these players, as soon as each has heard of it. @param {import('playwright-core').Page[]} pages */
async function agree(pages, ids) {
  for (let tries = 0; ; tries += 1) {
    const all = await Promise.all(pages.map((page) => seen(page, ids)));
    // Whom a page does not have in view it cannot be asked about.
    const isNear = ([, x, y, health], other) => Math.hypot(x - other[1], y - other[2]) <= SLACK_PX && health === other[3];
    const differs = ids.filter((id, at) => {
      const [first, ...others] = all.map((one) => one[at]).filter((one) => one.length > 1);
      return others.some((other) => !isNear(first, other));
    });
    if (differs.length === 0) return;
    assert.ok(tries < 50, `${differs}: ${JSON.stringify(all)}`);
    await sleep(100);
  }
}

let ids = { ada: 0, bo: 0, cy: 0 };
await game.check('two pages run the world, one is told what it sees', async () => {
  ids = { ada: await join(ada, 'Ada', '?mode=lockstep'), bo: await join(bo, 'Bo', ''), cy: await join(cy, 'Cy', '?mode=lockstep') };
  for (const page of [ada, cy]) {
    const { isActive, fallbackReason, player, syncs } = await world(page);
    assert.deepEqual({ isActive, fallbackReason, player, syncs }, { isActive: true, fallbackReason: '', player: await state(page, 'id'), syncs: 1 });
    assert.ok(await page.locator('#lockstep').isVisible());
  }
  assert.equal(await world(bo), null);
  assert.equal(await bo.locator('#lockstep').isVisible(), false);
});

await game.check('own keys move at once, and all three know the same places', async () => {
  await until(ada, () => window.tickwire.predicted !== null);
  await alive([ada, bo, cy], async () => {
    for (const page of [ada, bo, cy]) await walk(page, ['d', 'a', 's', 'w'], 60);
    await Promise.all([ada, bo, cy].map(rest));
    await agree([ada, bo, cy], Object.values(ids));
  });
});

await game.check('a wall that one builds stands in all three', async () => {
  server.order('grant Ada wood 100');
  await until(ada, () => window.tickwire.resources.wood >= 100);
  for (const page of [bo, cy]) await new Walker(page).to(() => state(ada, 'own'), 320);
  await ada.locator(`${WALL_SLOT}:not(.poor)`).waitFor();
  await press(ada, WALL_SLOT);
  await turnToRoom(ada);
  await click(ada);
  for (const page of [ada, bo, cy]) await until(page, (wall) => window.tickwire.structures.some(({ item }) => item === wall), WALL);
});

await game.check('a hammer hurts, in all three', async () => {
  const walker = new Walker(cy);
  for (let tries = 0; (await state(bo, 'health')) === 100; tries += 1) {
    assert.ok(tries < 12, 'nobody was hit');
    // Something may be in the way: the next attempt walks on from there.
    await walker.to(() => state(bo, 'own'), 75, 15_000).catch(() => {});
    await cy.mouse.down();
    // A server that skips ticks strikes late, and who walked there may still slide: it aims again until it hits.
    for (let looks = 0; looks < 15 && (await state(bo, 'health')) === 100; looks += 1) {
      const [own, prey] = [await state(cy, 'own'), await state(bo, 'own')];
      await point(cy, Math.atan2(prey.y - own.y, prey.x - own.x));
      await sleep(200);
    }
    await cy.mouse.up();
  }
  await agree([bo, cy], [ids.bo, ids.cy]);
});

await game.check('while all walk and strike, every checksum agrees', async () => {
  const before = { ada: await world(ada), cy: await world(cy), compared: await metric('lockstep_checksums') };
  const end = performance.now() + PLAY_MS;
  for (let turn = 0; performance.now() < end; turn += 1) {
    const keys = ['d', 's', 'a', 'w'];
    const pages = [ada, bo, cy];
    await Promise.all(pages.map((page, at) => page.keyboard.down(keys[(turn + at) % 4])));
    await pages[turn % 3].mouse.down();
    await sleep(400);
    await pages[turn % 3].mouse.up();
    await Promise.all(pages.map((page, at) => page.keyboard.up(keys[(turn + at) % 4])));
  }
  const after = { ada: await world(ada), cy: await world(cy) };
  const notes = [];
  for (const name of ['ada', 'cy']) {
    const [from, to] = [before[name], after[name]];
    const due = Math.floor(to.tick / CHECKSUM_TICKS) - Math.floor(from.tick / CHECKSUM_TICKS);
    assert.ok(Math.abs(to.checksums - from.checksums - due) <= 1, `${to.checksums - from.checksums} checksums where ${due} were due`);
    assert.deepEqual([to.differed, to.syncs, to.report], [0, 1, null]);
    const seconds = (to.tick - from.tick) / 30;
    const rate = (which) => Math.round((to.counts[which] - from.counts[which]) / seconds);
    notes.push(`${name}: ${due} checksums, ${rate('bytesIn')} B/s, a stream ${rate('bytesStream')} B/s`);
  }
  assert.equal(await metric('lockstep_desyncs'), 0);
  assert.ok(await metric('lockstep_checksums') > before.compared);
  await Promise.all([ada, bo, cy].map(async (page) => { if (await state(page, 'own')) await rest(page); }));
  await keep(ada, 'lockstep');
  return notes.join('; ');
});

await game.check('who joins late agrees', async () => {
  await late.goto(`${server.url}/?mode=lockstep`);
  await until(late, () => window.tickwire?.lockstep?.tick > 0);
  await checked(late, 2);
  const { syncs, differed, checksums } = await world(late);
  assert.deepEqual([syncs, differed], [1, 0]);
  await agree([ada, late], Object.values(ids));
  return `${checksums} checksums`;
});

await game.check('a changed field is named to all who run the world, and the world comes back by itself', async () => {
  await cy.keyboard.down('d');
  await press(cy, '#l-corrupt');
  await until(cy, () => window.tickwire.lockstep.differed === 1 && window.tickwire.lockstep.report !== null);
  await cy.keyboard.up('d');
  const { corrupted, report, player } = await world(cy);
  assert.equal(report.tick, corrupted.tick);
  assert.deepEqual(report.fields, [{ participant: `player ${player}`, entity: corrupted.entity, field: corrupted.field, server: corrupted.before, own: corrupted.after }]);
  assert.deepEqual(report.groups[1][1], [`player ${player}`]);
  assert.ok(report.groups[0][1].includes('server') && report.groups[0][1].includes(`player ${ids.ada}`), JSON.stringify(report.groups));
  for (const page of [ada, late]) {
    await until(page, () => window.tickwire.lockstep.report !== null);
    assert.deepEqual((await world(page)).report, report);
  }
  assert.equal(await state(bo, 'lockstep'), null);
  await checked(cy, 2);
  await cy.locator('#l-story li', { hasText: /begun again from a snapshot, and the server has objected to none of \d+ checksums? since/ }).waitFor();
  const { differed, syncs } = await world(cy);
  assert.deepEqual([differed, syncs], [1, 2]);
  assert.equal(await metric('lockstep_desyncs'), 1);
  assert.match(await cy.locator('#l-story li').first().textContent(), new RegExp(`: .* on the server, .* with player ${player}\\.$`), 'what differs comes first');
  assert.match(await cy.locator('#l-differed').textContent(), /^1 of \d+$/);
  await keep(cy, 'lockstep-report');
  return `${corrupted.entity}, ${corrupted.field}: ${corrupted.before}, not ${corrupted.after}`;
});

await game.check('and plays on: a key walks, and stops when it is let go', async () => {
  // While all struck, or by an animal, Cy may have been killed.
  await alive([cy], async () => {
    await walk(cy, ['a', 'd', 's', 'w'], 60);
    await rest(cy);
    await agree([ada, bo, cy, late], Object.values(ids));
  });
  assert.deepEqual([(await world(cy)).differed, (await state(cy, 'id'))], [1, ids.cy]);
});

await game.check('the panel closes, opens again, and gives its place to the connection panel', async () => {
  await press(ada, '#lockstep-close');
  assert.equal(await ada.locator('#lockstep').isVisible(), false);
  await press(ada, '#panel-button');
  await press(ada, '#p-lockstep');
  await ada.locator('#lockstep').waitFor();
  assert.equal(await ada.locator('#panel').isVisible(), false);
  for (const [width, height] of [[1440, 900], [1280, 720], [390, 844], [844, 390]]) {
    await ada.setViewportSize({ width, height });
    const box = await ada.locator('#lockstep').boundingBox();
    assert.ok(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${width} × ${height}: ${JSON.stringify(box)}`);
  }
});

await game.check('a server without lockstep: the page says so, and plays as a stream', async () => {
  const other = await new Game().open([...FLAGS, '--lockstep', 'off']);
  try {
    await other.ada.goto(`${other.server.url}/?mode=lockstep`);
    await other.ada.locator('#status-text', { hasText: /^This page follows as a stream: this server does not offer lockstep/ }).waitFor();
    await press(other.ada, '#play');
    await until(other.ada, () => window.tickwire.own !== null && !window.tickwire.lockstep.isActive);
    assert.match(await other.ada.locator('#l-why').innerText(), /as a stream/);
    assert.deepEqual(other.complaints.list, []);
  } finally {
    await other.browser.close();
    await other.server.stop();
  }
});

await game.check('the tab edition shows a stream and lockstep side by side, of one server, without a network', async () => {
  const site = await serve(tabEdition());
  const page = await game.page('two', { viewport: VIEWPORT });
  await page.goto(`${site.url}?second`);
  await page.locator('#edition-offline').waitFor();
  assert.equal(await page.locator('#title-edition a').first().getAttribute('href'), '?second');
  const second = page.frames().find((frame) => frame.url().includes('mode=lockstep'));
  assert.ok(second, page.frames().map((frame) => frame.url()).join());
  await second.waitForFunction(() => window.tickwire?.lockstep?.tick > 0, undefined, { timeout: 30_000 });
  await site.cut();
  await press(page, '#play');
  await until(page, () => window.tickwire.own !== null);
  await page.frameLocator('#second').locator('#play').click();
  await second.waitForFunction(() => window.tickwire.own !== null);
  const told = (of) => of.evaluate(() => ({ epoch: window.tickwire.epoch, id: window.tickwire.id, lockstep: window.tickwire.lockstep }));
  const [one, two] = [await told(page.mainFrame()), await told(second)];
  assert.equal(one.epoch, two.epoch);
  assert.notEqual(one.id, two.id);
  assert.deepEqual([one.lockstep, two.lockstep.isActive], [null, true]);
  await second.waitForFunction(() => window.tickwire.lockstep.checksums >= 3, undefined, { timeout: 30_000 });
  assert.equal((await told(second)).lockstep.differed, 0);
  await keep(page, 'lockstep-two');
  await page.context().close();
});

await game.check('no page error, console error, warning or failed request', () => {
  assert.deepEqual(game.complaints.list, []);
});
if (game.failed > 0) await Promise.all([keep(ada, 'failed-ada'), keep(cy, 'failed-cy')]);
await game.browser.close();
await game.server.stop().catch(() => game.server.kill());
if (game.failed > 0) console.log(`the server's log:\n${game.server.log().replace(/^/gm, '    ')}`);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
