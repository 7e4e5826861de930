// A clan: one founds it, the other asks to join and is let in; the one's arrows then pass the other by, and a place is shown.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until, watchFor } from '../lib/browser.mjs';
import { Walker } from '../lib/game.mjs';
import { ARROW_DAMAGE } from './fighting.mjs';

const NAME = 'OAK';
const BOW = 9;
const ARROW_WOOD = 4;
/** An arrow whose way is nearer to the middle of a player than this goes through the body, px. */
const BODY_RADIUS = 35;
/** An animal that is farther away than this bites nobody, px. */
const BITE = 300;

/** @param {import('../lib/game.mjs').Game} game */
export async function clans(game) {
  const { ada, bo, ids } = game;
  await game.check('C opens the panel; a name and Enter found a clan, and both hear of it', async () => {
    await ada.keyboard.press('c');
    await ada.locator('#clan').waitFor({ state: 'visible' });
    await ada.locator('#clan-name').click();
    await ada.keyboard.type(NAME);
    await ada.keyboard.press('Enter');
    await until(ada, (id) => window.tickwire.clans.own?.members.some((one) => one.id === id), ids.ada);
    await ada.locator('#clan-title', { hasText: `[${NAME}]` }).waitFor();
    await until(bo, (name) => window.tickwire.clans.all.some((clan) => clan.name === name), NAME);
    await until(bo, (id) => !(id in window.tickwire.players) || window.tickwire.clans.tags[id] !== undefined, ids.ada);
  });
  await game.check('the other asks to join; the owner is told and lets it in', async () => {
    await bo.keyboard.press('c');
    await bo.locator(`[data-row="clan-${NAME}"] [data-act="ask"]`).click();
    await bo.locator(`[data-row="clan-${NAME}"] span`, { hasText: 'asked' }).waitFor();
    await ada.locator('#clan-badge', { hasText: /^1$/ }).waitFor({ state: 'visible' });
    await keep(ada, 'clan');
    await ada.locator(`[data-row="ask-${ids.bo}"] [data-act="yes"]`).click();
    await until(bo, () => window.tickwire.clans.own?.members.length === 2);
    await bo.locator('#clan-members li', { hasText: 'Ada' }).waitFor();
    await ada.locator('#clan-badge').waitFor({ state: 'hidden' });
    assert.deepEqual((await state(bo, 'clans')).own.isOwner, false);
    for (const page of [ada, bo]) {
      await page.keyboard.press('Escape');
      await page.locator('#clan').waitFor({ state: 'hidden' });
    }
  });
  await game.check('R shows one\'s place to the clan', async () => {
    const shown = watchFor(ada, (id) => window.tickwire.clans.pings.some((ping) => ping.player === id), ids.bo);
    await bo.keyboard.press('r');
    await shown;
    await sleep(250);
    await keep(ada, 'ping');
  });
  await harmless(game);
}

/** @param {import('../lib/game.mjs').Game} game */
async function harmless(game) {
  const { ada, bo, ids } = game;
  await game.check('arrows of one\'s own clan do no harm', async () => {
    const walker = new Walker(ada);
    const mate = async () => {
      const own = await state(bo, 'own');
      assert.ok(own, 'the mate is dead');
      return own;
    };
    await walker.to(mate, 200, 60000);
    assert.equal((await state(ada, 'hand')).weapon, BOW, 'no bow in the hand');
    const { wood } = await state(ada, 'resources');
    const shots = async () => (wood - (await state(ada, 'resources')).wood) / ARROW_WOOD;
    const arrows = () => bo.evaluate(() => window.arrows);
    const flewThrough = async () => (await arrows()).nearest < BODY_RADIUS;
    await noteArrows(bo, ids.ada);
    // Away from the panels, which take what is pressed on them.
    await walker.look(await mate());
    await ada.mouse.down();
    const from = performance.now();
    for (let i = 1; performance.now() - from < 60000 && !(await shots() >= 3 && await flewThrough()); i++) {
      await walker.look(await mate());
      await sleep(100);
      // A tree may stand between them: go nearer.
      if (i % 40 === 0) await walker.to(mate, Math.max(100, 200 - i / 2));
    }
    await ada.mouse.up();
    await sleep(500);
    const { nearest, hurt } = await arrows();
    assert.deepEqual(hurt, [], 'an arrow of the clan has hurt');
    assert.ok(nearest < BODY_RADIUS, `the nearest arrow passed ${nearest} px from the mate`);
    assert.ok(await shots() >= 3, `${await shots()} shots`);
    return `${await shots()} arrows from ${Math.round(await distance(ada, bo))} px, the nearest ${nearest.toFixed(1)} px from the middle`;
  });
}

/**
 * Notes in `window.arrows`, frame by frame, how near somebody's arrows come to a page's player, and what its health lost that no
 * animal took: as much as an arrow takes, or anything while no animal is near.
 * @param {import('playwright-core').Page} page @param {number} shooter
 */
const noteArrows = (page, shooter) => page.evaluate(([by, damage, bite]) => {
  window.arrows = { nearest: Infinity, hurt: [] };
  let before = window.tickwire.health;
  const note = () => {
    const { own, health, shots, animals } = window.tickwire;
    const away = (thing) => Math.hypot(thing.x - own.x, thing.y - own.y);
    for (const shot of own ? shots.filter((one) => one.shooter === by) : []) {
      // The nearest point of its way so far: between two pictures it flies farther than a body is wide.
      const [toX, toY] = [Math.cos(shot.heading), Math.sin(shot.heading)];
      const flown = shot.ended ? shot.reach : Math.max(0, Math.min(shot.way, shot.reach));
      const along = Math.max(0, Math.min((own.x - shot.fromX) * toX + (own.y - shot.fromY) * toY, flown));
      window.arrows.nearest = Math.min(window.arrows.nearest, away({ x: shot.fromX + along * toX, y: shot.fromY + along * toY }));
    }
    const lost = health === null ? 0 : before - health;
    if (own && lost > 0 && (lost === damage || !animals.some((animal) => away(animal) < bite))) window.arrows.hurt.push(lost);
    before = health;
    requestAnimationFrame(note);
  };
  note();
}, [shooter, ARROW_DAMAGE, BITE]);

async function distance(one, other) {
  const [a, b] = [await state(one, 'own'), await state(other, 'own')];
  return Math.hypot(a.x - b.x, a.y - b.y);
}
