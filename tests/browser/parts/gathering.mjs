// Gathering with a real mouse: walk to a tree, hold the button, see the wood. Beside it sound and the list of keys.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, settled, state, until } from '../lib/browser.mjs';
import { Walker, follow, rest } from '../lib/game.mjs';

const TREE = 0;
/** How far beyond the reach of its picture a tree can be struck, px, with a little to spare. */
const REACH = 55;

/** The nearest thing of a kind that a page knows. */
async function nearest(page, kind) {
  const own = await state(page, 'own');
  const far = (thing) => Math.hypot(thing.x - own.x, thing.y - own.y);
  const [thing] = (await state(page, 'objects')).filter((one) => one.kind === kind).sort((a, b) => far(a) - far(b));
  assert.ok(thing, `nothing of kind ${kind} in sight`);
  return thing;
}

/** @param {import('../lib/game.mjs').Game} game */
export async function gathering(game) {
  const { ada, bo, ids } = game;
  const walker = new Walker(ada);
  await game.check('one walks to a tree and strikes it until there is wood', async () => {
    const tree = await nearest(ada, TREE);
    await walker.to(async () => tree, tree.scale + REACH);
    await rest(ada);
    await follow(bo, ada);
    await walker.look(tree);
    assert.deepEqual(await state(ada, 'resources'), { wood: 0, food: 0, stone: 0, gold: 0 });
    await ada.mouse.down();
    await until(ada, () => window.tickwire.resources.wood >= 3);
    await until(ada, () => window.tickwire.effects.numbers > 0 && window.tickwire.effects.particles > 0);
    await keep(ada, 'gather');
    await ada.mouse.up();
    const { swings } = (await state(ada, 'players'))[ids.ada];
    await until(bo, (id) => window.tickwire.players[id]?.swings > 0, ids.ada);
    return `${(await state(ada, 'resources')).wood} wood after ${swings} swings`;
  });
  await game.check('the count of wood and the bar of the age show it', async () => {
    await sleep(600);
    // A late swing may change the figures between two reads, so each read takes the figures and the page's texts together.
    const shown = await until(ada, () => {
      const { wood, xp, age } = window.tickwire.figures;
      const [woodText, ageText, xpText] = ['#f-wood', '#age', '#age-xp'].map((id) => document.querySelector(id).innerText);
      return woodText === String(wood) && ageText === `Age ${age}` && xpText.startsWith(`${xp} of `) && { xp, age };
    });
    const { xp, age } = await shown.jsonValue();
    assert.ok(xp > 0 && age === 1, `xp ${xp}, age ${age}`);
  });
  await game.check('the button let go ends it; Space strikes as well', async () => {
    const count = async () => (await state(ada, 'players'))[ids.ada].swings;
    const before = await settled(count);
    await ada.keyboard.down('Space');
    await until(ada, ([id, from]) => window.tickwire.players[id]?.swings >= from + 2, [ids.ada, before]);
    await ada.keyboard.up('Space');
  });
  await game.check('sound plays after the first gesture, one key turns it off, and that is remembered', async () => {
    const { on, open, played } = await state(ada, 'sound');
    assert.deepEqual([on, open], [true, true]);
    assert.ok(played > 0, 'nothing was heard');
    await ada.keyboard.press('m');
    assert.equal((await state(ada, 'sound')).on, false);
    assert.equal(await ada.locator('#sound-button').getAttribute('aria-pressed'), 'false');
    assert.equal(await ada.evaluate(() => localStorage.getItem('tickwire.sound')), 'off');
    await ada.keyboard.press('m');
    assert.equal((await state(ada, 'sound')).on, true);
  });
  await game.check('one key shows which keys do what', async () => {
    for (const [open, close] of [['h', 'h'], ['?', 'Escape']]) {
      await ada.keyboard.press(open);
      await ada.locator('#help').waitFor({ state: 'visible' });
      await ada.keyboard.press(close);
      await ada.locator('#help').waitFor({ state: 'hidden' });
    }
  });
}
