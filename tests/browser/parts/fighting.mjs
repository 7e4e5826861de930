// One shoots the other: damage, arrows, kill message, death card, and play again while the world goes on.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until, watchFor } from '../lib/browser.mjs';
import { Walker, follow, revive, walk } from '../lib/game.mjs';
import { eat } from './hunting.mjs';

export const ARROW_DAMAGE = 25;
/** From here an arrow hardly misses, px. */
const AIMED = 260;
/** Two bodies side by side, and a little room, px. */
const CLOSE = 100;
/** One is shot at for so long. */
const SHOOT_MS = 60000;
/** What is seen on the way is waited for as long as walking there and shooting take together. */
const SEEN_MS = 180000;

/** Notes each health that a page knows of, oldest first, in `window.healths`. */
const noteHealths = (page) => page.evaluate(() => {
  window.healths = [];
  const begun = window.noting ?? 0;
  window.noting = begun + 1;
  const note = () => {
    const { health } = window.tickwire;
    if (health !== null && health !== window.healths.at(-1)) window.healths.push(health);
    if (window.noting === begun + 1) requestAnimationFrame(note);
  };
  note();
});

/** @param {import('../lib/game.mjs').Game} game */
export async function fighting(game) {
  const { ada, bo, ids, server } = game;
  const walker = new Walker(ada);
  const prey = () => state(bo, 'own');
  // Ada's hammer may have met Bo beside a wolf: what counts is what comes now.
  const { score, kills } = await state(ada, 'figures');
  const told = [ada, bo].map((page) => watchFor(page,
    () => [...document.querySelectorAll('#kills li')].some((row) => /^Ada\s*Bo$/.test(row.textContent) && row.checkVisibility()), null, SEEN_MS));
  await game.check('an arrow flies in both pages, takes 25 health, and costs 4 wood', async () => {
    assert.equal((await state(ada, 'hand')).weapon, 9);
    // The wolves may have hurt or killed Bo, who has to survive an arrow; and the hunt may have led Ada out of sight.
    await revive(bo);
    server.order('grant Bo food 100');
    await until(bo, () => window.tickwire.resources.food >= 90);
    for (let meal = 0; meal < 3; meal++) await eat(bo);
    await follow(ada, bo);
    await until(bo, (id) => window.tickwire.players[id]?.weapon === 9, ids.ada);
    const { wood } = await state(ada, 'resources');
    await noteHealths(bo);
    const flew = [ada, bo].map((page) => watchFor(page, (id) => window.tickwire.shots.some((shot) => shot.shooter === id && shot.kind === 0), ids.ada, SEEN_MS));
    await shootAt(ada, walker, prey, () => until(bo, (damage) => window.healths.some((health, i) => i > 0 && window.healths[i - 1] - health === damage),
      ARROW_DAMAGE, 1500));
    await Promise.all(flew);
    await keep(ada, 'shooting');
    await ada.mouse.up();
    await keep(bo, 'fight');
    await until(ada, (id) => window.tickwire.players[id] === undefined || window.tickwire.players[id]?.health < 100, ids.bo);
    const spent = wood - (await state(ada, 'resources')).wood;
    assert.ok(spent > 0 && spent % 4 === 0, `${spent} wood`);
  });
  await shootDown(game, walker, prey);
  await afterwards(game, { score: score + 100, kills: kills + 1 }, told);
}

/** Holds the button and aims until something has come true. @param {() => Promise<any>} done fails while it has not */
async function shootAt(page, walker, prey, done) {
  await walker.to(prey, AIMED);
  await page.mouse.down();
  for (let i = 0; i < 12; i++) {
    const target = await prey();
    if (target) await walker.look(target);
    if (await done().then(() => true, () => false)) return;
    // A tree may stand between them: go nearer.
    if (target) await walker.to(prey, AIMED - 15 * i);
  }
  throw new Error('no arrow has hit');
}

/** @param {import('../lib/game.mjs').Game} game */
async function shootDown(game, walker, prey) {
  const { ada, bo, ids } = game;
  await game.check('the one shoots until the other dies', async () => {
    await ada.mouse.down();
    const from = performance.now();
    for (let ms = 0; ms < SHOOT_MS && (await state(bo, 'dead')) === null; ms = performance.now() - from) {
      const [hunter, target] = [await state(ada, 'own'), await prey()];
      if (!target) break;
      // A tree may stand between them: nearer and nearer.
      const far = Math.hypot(target.x - hunter.x, target.y - hunter.y) > Math.max(CLOSE, AIMED - ms / 100);
      await walker.steer(far ? target.x - hunter.x : 0, far ? target.y - hunter.y : 0);
      await walker.look(target);
      await sleep(20);
    }
    await ada.mouse.up();
    await walker.steer(0, 0);
    const dead = await state(bo, 'dead');
    assert.ok(dead, 'alive after all that');
    assert.deepEqual([dead.killer, dead.name, dead.age, dead.kills], [ids.ada, 'Ada', 1, 0]);
    assert.deepEqual([await state(bo, 'id'), await state(bo, 'own'), await state(bo, 'health')], [null, null, null]);
  });
}

/**
 * @param {import('../lib/game.mjs').Game} game @param {number} score that the kill of a newcomer leads to
 * @param {Promise<any>[]} told what comes true when a page shows the kill
 */
async function afterwards(game, figures, told) {
  const { ada, bo, ids } = game;
  await game.check('both pages tell of the kill', async () => {
    await Promise.all(told);
    for (const page of [ada, bo]) {
      const { killer, victim } = (await state(page, 'kills')).at(-1);
      assert.deepEqual([killer, victim], [ids.ada, ids.bo]);
    }
    await until(ada, (wanted) => window.tickwire.figures.kills === wanted.kills && window.tickwire.figures.score === wanted.score, figures);
    await until(ada, (id) => !(id in window.tickwire.players), ids.bo);
    await ada.locator('#f-kills', { hasText: new RegExp(`^${figures.kills}$`) }).waitFor();
    await keep(ada, 'kill');
  });
  await game.check('the dead read who did it, and watch the world go on', async () => {
    await bo.locator('#death').waitFor({ state: 'visible' });
    assert.match(await bo.locator('#death-by').innerText(), /^Ada /);
    assert.equal(await bo.locator('#d-age').innerText(), '1');
    await until(bo, (id) => window.tickwire.spectated === id && id in window.tickwire.players, ids.ada);
    const before = (await state(bo, 'players'))[ids.ada];
    await walk(ada, ['d', 'a', 's', 'w'], 60);
    await until(bo, ([id, x, y]) => Math.hypot(window.tickwire.players[id]?.x - x, window.tickwire.players[id]?.y - y) > 40,
      [ids.ada, before.x, before.y]);
    await keep(bo, 'death');
  });
  await game.check('Enter plays again: a whole body under the same number', async () => {
    await bo.keyboard.press('Enter');
    await until(bo, () => window.tickwire.own !== null && window.tickwire.dead === null);
    assert.deepEqual([await state(bo, 'id'), await state(bo, 'health')], [ids.bo, 100]);
    await bo.locator('#death').waitFor({ state: 'hidden' });
    assert.equal(await bo.locator('#chat').isVisible(), false, 'the same Enter does not open the chat');
    await walk(bo, ['s', 'd', 'a', 'w'], 60);
    await sleep(200);
    await keep(bo, 'again');
  });
}
