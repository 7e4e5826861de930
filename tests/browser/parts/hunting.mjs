// What the operator says and gives, what it lets appear, and how one grows by it: wolves are hunted down with a real mouse until
// the sixth age offers a bow.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, state, until, watchFor } from '../lib/browser.mjs';
import { Walker, click, follow, revive } from '../lib/game.mjs';
import { turnToRoom } from './building.mjs';

const WOLF = 4;
const WOLF_HEALTH = 300;
const HAMMER_DAMAGE = 25;
const WALL = 3;
const SWORD = 3;
const BOW = 9;
const BOW_AGE = 6;
const SAID = 'Wolves have been seen in the south.';
/** One animal is hunted for so long. */
const HUNT_MS = 60000;
/** What is chosen where it is offered: numbers of choices, items from 16 on. */
const WANTED = [SWORD, BOW, 17, 20];

/** @param {import('../lib/game.mjs').Game} game */
export async function hunting(game) {
  const { ada, bo, ids } = game;
  await game.check('what the operator says stands large in both pages, and in the chat', async () => {
    const told = [ada, bo].map((page) => watchFor(page, (text) => {
      const notice = document.querySelector('#notice-text');
      const lines = [...document.querySelectorAll('#log li.operator')];
      return notice.textContent === text && notice.checkVisibility() && lines.some((line) => line.textContent.includes(text) && line.checkVisibility());
    }, SAID));
    game.server.order(`announce ${SAID}`);
    await Promise.all(told);
    await keep(bo, 'say');
  });
  await game.check('what the operator grants is there at once', async () => {
    const before = await state(ada, 'resources');
    for (const [resource, amount] of [['wood', 400], ['food', 300], ['stone', 100]]) game.server.order(`grant Ada ${resource} ${amount}`);
    await until(ada, ({ wood, food, stone }) => window.tickwire.resources.wood === wood + 400 && window.tickwire.resources.food === food + 300
      && window.tickwire.resources.stone === stone + 100, before);
    await ada.locator('#f-wood', { hasText: String(before.wood + 400) }).waitFor();
  });
  await game.check('with Space held to strike, a click still builds what was taken into the hand', async () => {
    await ada.keyboard.down('Space');
    const { swings } = (await state(ada, 'players'))[ids.ada];
    await until(ada, ([id, from]) => window.tickwire.players[id]?.swings > from, [ids.ada, swings]);
    await ada.keyboard.press('3');
    await until(ada, (wall) => window.tickwire.hand.item === wall, WALL);
    await turnToRoom(ada);
    const before = (await state(ada, 'structures')).length;
    await click(ada);
    await until(ada, (count) => window.tickwire.structures.length === count + 1 && window.tickwire.hand.item === null, before);
    const again = (await state(ada, 'players'))[ids.ada].swings;
    await until(ada, ([id, from]) => window.tickwire.players[id]?.swings > from, [ids.ada, again]);
    await ada.keyboard.up('Space');
  });
  await wolves(game);
}

/** @param {import('../lib/game.mjs').Game} game */
async function wolves(game) {
  const { ada, bo } = game;
  const walker = new Walker(ada);
  await game.check('a wolf that the operator lets appear is seen by both, comes, and can be struck', async () => {
    const home = await state(bo, 'own');
    await follow(bo, ada);
    const id = await wolf(game);
    const seen = watchFor(bo, (wanted) => window.tickwire.animals.some((animal) => animal.id === wanted), id, HUNT_MS);
    const struck = watchFor(ada, (wanted) => window.tickwire.health < 100
      || window.tickwire.animals.find((animal) => animal.id === wanted)?.strikes > 0, id, HUNT_MS);
    const kept = struck.then(() => keep(ada, 'animals'));
    kept.catch(() => {});
    // Out of the way as soon as Bo has seen it: the wolf and Ada's hammer strike whoever stands by.
    const away = seen.then(() => new Walker(bo).to(async () => home, 60)).catch(async (error) => {
      if (!(await revive(bo))) throw error;
    });
    away.catch(() => {});
    const least = await hunt(ada, walker, id);
    await Promise.all([away, kept]);
    assert.equal((WOLF_HEALTH - least) % HAMMER_DAMAGE, 0, `a wolf of ${least} health after blows of ${HAMMER_DAMAGE}`);
    const { age } = await state(ada, 'figures');
    assert.ok(age >= 2, `age ${age} after a wolf`);
    return `age ${age}, health ${await state(ada, 'health')}`;
  });
  await game.check('what an age offers is chosen with Shift and a number, and is in the bar then', async () => {
    await choose(ada);
    await ada.locator(`[data-slot="weapon-${SWORD}"]`).waitFor();
    await until(ada, (sword) => window.tickwire.hand.weapon === sword, SWORD);
  });
  await game.check('more wolves make one old enough for a bow, which a click chooses and a number takes into the hand', async () => {
    for (let i = 0; i < 5 && (await state(ada, 'figures')).age < BOW_AGE; i++) {
      await eat(ada);
      await hunt(ada, walker, await wolf(game));
      await choose(ada, BOW);
    }
    await choose(ada, BOW);
    await keep(ada, 'offers');
    const box = await ada.locator(`[data-choice="${BOW}"]`).boundingBox();
    assert.ok(box, 'no bow is offered');
    await ada.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await ada.locator(`[data-slot="weapon-${BOW}"]`).waitFor();
    await ada.keyboard.press('2');
    await until(ada, (bow) => window.tickwire.hand.weapon === bow && window.tickwire.hand.item === null, BOW);
    await eat(ada);
    return `age ${(await state(ada, 'figures')).age}`;
  });
}

/** Lets a wolf appear beside one, where there is room. @returns its number in the page */
async function wolf({ ada, server }) {
  const known = (await state(ada, 'animals')).map(({ id }) => id);
  const appeared = () => ada.evaluate(([kind, old]) => window.tickwire.animals.find((animal) => animal.kind === kind && !old.includes(animal.id))?.id ?? null,
    [WOLF, known]);
  for (let i = 0; i < 16; i++) {
    const { x, y } = await state(ada, 'own');
    const [angle, far] = [(i * Math.PI * 3) / 4, i < 8 ? 190 : 300];
    const said = server.log().length;
    server.order(`spawn wolf ${Math.round(x + far * Math.cos(angle))} ${Math.round(y + far * Math.sin(angle))}`);
    for (let wait = 0; wait < 60 && !server.log().slice(said).includes('no_room'); wait++) {
      const found = await appeared();
      if (found !== null) return found;
      await sleep(50);
    }
  }
  throw new Error('no wolf has appeared');
}

/** Strikes an animal until it is dead. @returns the least health that it was seen to have */
async function hunt(page, walker, id) {
  await page.mouse.down();
  let least = WOLF_HEALTH;
  let missed = 0;
  const from = performance.now();
  while (performance.now() - from < HUNT_MS) {
    const animal = (await state(page, 'animals')).find((one) => one.id === id);
    const own = await state(page, 'own');
    if (!own) break;
    // One that has not come into the picture yet is waited for; one that was struck and is not there any more is dead.
    if (!animal) {
      if (least < WOLF_HEALTH || ++missed > 40) break;
      await sleep(50);
      continue;
    }
    least = Math.min(least, animal.health);
    if ((await state(page, 'health')) < 45) {
      await page.mouse.up();
      await eat(page);
      await page.mouse.down();
    }
    const far = Math.hypot(animal.x - own.x, animal.y - own.y) > 150;
    await walker.steer(far ? animal.x - own.x : 0, far ? animal.y - own.y : 0);
    await walker.look(animal);
  }
  await page.mouse.up();
  await walker.steer(0, 0);
  assert.ok(await state(page, 'own'), 'the wolf was stronger');
  assert.ok(least < WOLF_HEALTH, 'it was never hurt');
  return least;
}

/** Chooses what is offered, with Shift and a number, until nothing is, or what is left for a click is. */
async function choose(page, left = -1) {
  for (let i = 0; i < 8; i++) {
    await sleep(250);
    const { choices, age } = await state(page, 'offers');
    if (choices.length === 0 || choices.includes(left)) return;
    const wanted = choices.findIndex((choice) => WANTED.includes(choice));
    await page.keyboard.press(`Shift+Digit${Math.max(0, wanted) + 1}`);
    await until(page, ([before, list]) => window.tickwire.offers.age !== before || window.tickwire.offers.choices.join() !== list, [age, choices.join()]);
  }
}

/** Eats until one is well: Q, and a click. */
export async function eat(page) {
  for (let i = 0; i < 3; i++) {
    const [health, { food }] = [await state(page, 'health'), await state(page, 'resources')];
    if (health === null || health > 80 || food < 15) return;
    await page.keyboard.press('q');
    await until(page, () => (window.tickwire.hand?.item ?? null) !== null);
    await click(page);
    // The page puts the food away before the server has said what it did: only then is the health known that the next meal needs.
    await until(page, (had) => window.tickwire.hand === null || (window.tickwire.hand.item === null && window.tickwire.resources.food < had), food);
  }
}
