// Building with real keys and a real mouse: gather wood for a wall, take it by its number, place it where there is room,
// and strike it down again. What stands is read from both pages and from the wire.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, press, state, until, watchFor } from '../lib/browser.mjs';
import { DESKTOP } from '../lib/game.mjs';

const WALL = 3;
const WALLS = 1;
const APPLE = 0;
const COST = 10;

/** Points the mouse somewhere, as seen from oneself, and waits until the page has turned: a busy one does so a few frames later. */
export async function point(page, radians) {
  await page.mouse.move(DESKTOP.width / 2 + 170 * Math.cos(radians), DESKTOP.height / 2 + 170 * Math.sin(radians));
  await until(page, (wanted) => Math.cos(window.tickwire.own.heading - wanted) > 0.999, radians);
}

/** Turns until there is room for what is in the hand. @returns the ghost of it */
export async function turnToRoom(page) {
  for (let step = 0; step < 24; step++) {
    await point(page, (step * 5 * Math.PI) / 12);
    await sleep(60);
    const ghost = await state(page, 'ghost');
    if (ghost?.possible) return ghost;
  }
  throw new Error('no room for a wall anywhere around');
}

/** @param {import('../lib/game.mjs').Game} game */
export async function building(game) {
  const { ada, bo, ids } = game;
  await game.check('the hotbar shows what one begins with, and greys what cannot be paid', async () => {
    const { weapons, items } = await state(ada, 'inventory');
    assert.deepEqual([weapons, items], [[0], [0, 3, 6, 10]]);
    assert.deepEqual(await ada.locator('#hotbar button').evaluateAll((all) => all.map((one) => one.dataset.slot)),
      ['weapon-0', 'item-0', 'item-3', 'item-6', 'item-10']);
    assert.match(await ada.locator('[data-slot="weapon-0"]').getAttribute('class'), /held/);
    await ada.mouse.down();
    await until(ada, (cost) => window.tickwire.resources.wood >= cost, COST, 20000);
    await ada.mouse.up();
    await ada.locator('[data-slot="item-3"]:not(.poor)').waitFor();
    assert.match(await ada.locator('[data-slot="item-10"]').getAttribute('class'), /poor/, 'no stone for a windmill');
  });
  await game.check('a click on the bar takes the food, Q goes back to the weapon', async () => {
    await press(ada, '[data-slot="item-0"]');
    await until(ada, (apple) => window.tickwire.hand.item === apple, APPLE);
    assert.match(await ada.locator('#kit-tip').innerText(), /^Apple\. Heals 20\. Costs 10 food\.$/);
    await point(ada, 0);
    const told = watchFor(ada, () => {
      const text = document.querySelector('#status-text');
      return text.textContent.includes('Not enough food') && text.checkVisibility();
    });
    await ada.mouse.down();
    await ada.mouse.up();
    await told;
    await ada.keyboard.press('q');
    await until(ada, () => window.tickwire.hand.item === null && window.tickwire.hand.weapon === 0);
  });
  await game.check('a number key takes the wall into the hand; the other sees it carried', async () => {
    await ada.keyboard.press('3');
    await until(ada, (wall) => window.tickwire.hand.item === wall, WALL);
    await until(bo, ([id, wall]) => window.tickwire.players[id]?.item === wall, [ids.ada, WALL]);
    await ada.locator('[data-slot="item-3"].held').waitFor();
  });
  const wall = await place(game);
  if (wall) await strikeDown(game, wall);
}

/** @param {import('../lib/game.mjs').Game} game */
async function place(game) {
  const { ada, bo, ids, wire } = game;
  let built = null;
  await game.check('a click builds it where the ghost was; it is paid, and all see it', async () => {
    const ghost = await turnToRoom(ada);
    await keep(ada, 'building-ghost');
    const { wood } = await state(ada, 'resources');
    await ada.mouse.down();
    await ada.mouse.up();
    await until(ada, () => window.tickwire.structures.length === 1);
    [built] = await state(ada, 'structures');
    assert.deepEqual([built.item, built.owner], [WALL, ids.ada]);
    assert.ok(Math.hypot(built.x - ghost.x, built.y - ghost.y) <= 3, `at ${built.x}, ${built.y}, not ${ghost.x}, ${ghost.y}`);
    await until(ada, (left) => window.tickwire.resources.wood === left && window.tickwire.hand.item === null, wood - COST);
    assert.equal((await state(ada, 'inventory')).counts[WALLS], 1);
    await until(bo, (id) => window.tickwire.structures.some((one) => one.id === id), built.id);
    await sleep(100);
    const [seen] = await state(bo, 'structures');
    assert.deepEqual([seen.item, seen.owner, seen.x, seen.y], [WALL, ids.ada, built.x, built.y]);
    assert.deepEqual(wire.structures.get(built.id), { item: WALL, owner: ids.ada, x: built.x, y: built.y });
    await sleep(250);
    await keep(bo, 'building-other');
    return `${built.x}, ${built.y} for ${COST} of ${wood} wood`;
  });
  return built;
}

/** @param {import('../lib/game.mjs').Game} game @param {{ id: number, x: number, y: number }} wall */
async function strikeDown(game, wall) {
  const { ada, bo, wire } = game;
  await game.check('struck often enough it is gone everywhere', async () => {
    const own = await state(ada, 'own');
    await point(ada, Math.atan2(wall.y - own.y, wall.x - own.x));
    await ada.mouse.down();
    await until(ada, () => window.tickwire.effects.particles > 0);
    await keep(ada, 'building-struck');
    await until(ada, () => window.tickwire.structures.length === 0, null, 15000);
    await sleep(120);
    await keep(ada, 'building-gone');
    await ada.mouse.up();
    await until(bo, () => window.tickwire.structures.length === 0);
    await sleep(150);
    assert.equal(wire.structures.has(wall.id), false);
    assert.equal((await state(ada, 'inventory')).counts[WALLS] ?? 0, 0);
  });
}
