// One strikes down the other: damage, kill message, death card, and play again while the world goes on.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until } from '../lib/browser.mjs';
import { Walker, near, walk } from '../lib/game.mjs';

const HAMMER_DAMAGE = 25;
/** From this distance between two middles a hammer reaches, px, with a little to spare. */
const REACH = 105;

/** @param {import('../lib/game.mjs').Game} game */
export async function fighting(game) {
  const { ada, bo, ids } = game;
  const walker = new Walker(ada);
  const prey = () => state(bo, 'own');
  await game.check('a blow takes 25 health, and both see it', async () => {
    await walker.to(prey, REACH - 20);
    await walker.look(await prey());
    // Notes each health that the page of the one who is struck knows of.
    await bo.evaluate(() => {
      window.healths = [];
      const note = () => {
        const { health } = window.tickwire;
        if (health !== null && health !== window.healths.at(-1)) window.healths.push(health);
        requestAnimationFrame(note);
      };
      note();
    });
    await ada.mouse.down();
    await until(bo, () => window.healths.length >= 2);
    await until(bo, () => window.tickwire.effects.numbers > 0 && window.tickwire.effects.particles > 0);
    await keep(bo, 'fight');
    const healths = await bo.evaluate(() => window.healths);
    assert.deepEqual(healths.slice(0, 2), [100, 100 - HAMMER_DAMAGE]);
    await until(ada, (id) => window.tickwire.players[id] === undefined || window.tickwire.players[id].health < 100, ids.bo);
  });
  await game.check('the one follows and strikes until the other dies', async () => {
    for (let i = 0; i < 400 && (await state(bo, 'dead')) === null; i++) {
      const [hunter, target] = [await state(ada, 'own'), await prey()];
      if (!target) break;
      const far = Math.hypot(target.x - hunter.x, target.y - hunter.y) > REACH - 25;
      await walker.steer(far ? target.x - hunter.x : 0, far ? target.y - hunter.y : 0);
      await walker.look(target);
    }
    await ada.mouse.up();
    await walker.steer(0, 0);
    const dead = await state(bo, 'dead');
    assert.ok(dead, 'alive after all that');
    assert.deepEqual([dead.by, dead.name, dead.age, dead.kills], [ids.ada, 'Ada', 1, 0]);
    assert.deepEqual([await state(bo, 'id'), await state(bo, 'own'), await state(bo, 'health')], [null, null, null]);
    const hunter = await state(ada, 'own');
    near(Math.hypot(dead.x - hunter.x, dead.y - hunter.y), REACH / 2, REACH, 'where one died, from who did it');
  });
  await afterwards(game);
}

/** @param {import('../lib/game.mjs').Game} game */
async function afterwards(game) {
  const { ada, bo, ids } = game;
  await game.check('both pages tell of the kill', async () => {
    for (const page of [ada, bo]) {
      const row = page.locator('#kills li', { hasText: 'Ada' });
      await row.waitFor({ timeout: 3000 });
      assert.match(await row.innerText(), /Ada\s*Bo/);
      assert.deepEqual((await state(page, 'kills')).map(({ killer, victim }) => [killer, victim]), [[ids.ada, ids.bo]]);
    }
    await until(ada, () => window.tickwire.figures.kills === 1 && window.tickwire.figures.score === 100);
    await until(ada, (id) => !(id in window.tickwire.players), ids.bo);
    await ada.locator('#f-kills', { hasText: /^1$/ }).waitFor({ timeout: 2000 });
    await keep(ada, 'kill');
  });
  await game.check('the dead read who did it, and watch the world go on', async () => {
    await bo.locator('#death').waitFor({ state: 'visible', timeout: 4000 });
    assert.match(await bo.locator('#death-by').innerText(), /^Ada /);
    assert.equal(await bo.locator('#d-age').innerText(), '1');
    await until(bo, (id) => window.tickwire.watching === id && id in window.tickwire.players, ids.ada);
    const before = (await state(bo, 'players'))[ids.ada];
    await walk(ada, ['d', 'a', 's', 'w'], 60);
    await until(bo, ([id, x, y]) => Math.hypot(window.tickwire.players[id].x - x, window.tickwire.players[id].y - y) > 40,
      [ids.ada, before.x, before.y]);
    await keep(bo, 'death');
  });
  await game.check('Enter plays again: a whole body under the same number', async () => {
    await bo.keyboard.press('Enter');
    await until(bo, () => window.tickwire.own !== null && window.tickwire.dead === null);
    assert.deepEqual([await state(bo, 'id'), await state(bo, 'health')], [ids.bo, 100]);
    assert.equal(await bo.locator('#death').isVisible(), false);
    assert.equal(await bo.locator('#chat').isVisible(), false, 'the same Enter does not open the chat');
    await walk(bo, ['s', 'd', 'a', 'w'], 60);
    await sleep(200);
    await keep(bo, 'again');
  });
}
