// A clan: one founds it, the other asks to join and is let in; the one's arrows then pass the other by, and a place is shown.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until } from '../lib/browser.mjs';
import { Walker } from '../lib/game.mjs';

const NAME = 'OAK';

/** @param {import('../lib/game.mjs').Game} game */
export async function clans(game) {
  const { ada, bo, ids } = game;
  await game.check('C opens the panel; a name and Enter found a clan, and both hear of it', async () => {
    await ada.keyboard.press('c');
    await ada.locator('#clan').waitFor({ state: 'visible', timeout: 2000 });
    await ada.locator('#clan-name').click();
    await ada.keyboard.type(NAME);
    await ada.keyboard.press('Enter');
    await until(ada, (id) => window.tickwire.clans.own?.members.some((one) => one.id === id), ids.ada);
    await ada.locator('#clan-title', { hasText: `[${NAME}]` }).waitFor({ timeout: 2000 });
    await until(bo, (name) => window.tickwire.clans.all.some((clan) => clan.name === name), NAME);
    await until(bo, (id) => !(id in window.tickwire.players) || window.tickwire.clans.tags[id] !== undefined, ids.ada);
  });
  await game.check('the other asks to join; the owner is told and lets it in', async () => {
    await bo.keyboard.press('c');
    await bo.locator(`[data-row="clan-${NAME}"] [data-act="ask"]`).click();
    await bo.locator(`[data-row="clan-${NAME}"] span`, { hasText: 'asked' }).waitFor({ timeout: 2000 });
    await ada.locator('#clan-badge', { hasText: /^1$/ }).waitFor({ state: 'visible', timeout: 4000 });
    await keep(ada, 'clan');
    await ada.locator(`[data-row="ask-${ids.bo}"] [data-act="yes"]`).click();
    await until(bo, () => window.tickwire.clans.own?.members.length === 2);
    await bo.locator('#clan-members li', { hasText: 'Ada' }).waitFor({ timeout: 2000 });
    await ada.locator('#clan-badge').waitFor({ state: 'hidden', timeout: 2000 });
    assert.deepEqual((await state(bo, 'clans')).own.isOwner, false);
    for (const page of [ada, bo]) {
      await page.keyboard.press('Escape');
      await page.locator('#clan').waitFor({ state: 'hidden', timeout: 2000 });
    }
  });
  await game.check('R shows one\'s place to the clan', async () => {
    await bo.keyboard.press('r');
    await until(ada, (id) => window.tickwire.clans.pings.some((ping) => ping.player === id), ids.bo);
    await sleep(250);
    await keep(ada, 'ping');
  });
  await game.check('arrows of one\'s own clan do no harm', async () => {
    const walker = new Walker(ada);
    const mate = () => state(bo, 'own');
    await walker.to(mate, 200, 60000);
    assert.equal((await state(ada, 'hand')).weapon, 9, 'no bow in the hand');
    const before = await state(bo, 'health');
    const { wood } = await state(ada, 'resources');
    await ada.mouse.down();
    for (let i = 0; i < 30 && wood - (await state(ada, 'resources')).wood < 12; i++) {
      await walker.look(await mate());
      assert.ok(await state(bo, 'health') >= before, 'an arrow of the clan has hurt');
      await sleep(100);
    }
    await ada.mouse.up();
    await sleep(500);
    assert.ok(await state(bo, 'health') >= before);
    const shots = (wood - (await state(ada, 'resources')).wood) / 4;
    assert.ok(shots >= 3, `${shots} shots`);
    return `${shots} arrows from ${Math.round(await distance(ada, bo))} px`;
  });
}

async function distance(one, other) {
  const [a, b] = [await state(one, 'own'), await state(other, 'own')];
  return Math.hypot(a.x - b.x, a.y - b.y);
}
