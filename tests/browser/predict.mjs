// Prediction on a bad line, as a player sees it: from a key to the first frame that shows the walk, with prediction and without; what the other switches do
// to what is shown; and the panel's simulated line. `node predict.mjs [path of the server]`

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, state, until } from './lib/browser.mjs';
import { FLAGS, Game, Walker } from './lib/game.mjs';
import { shownAfter, watchCanvas } from './lib/next-frame.mjs';
import { ROUND_TRIP_MS, relay } from './lib/relay.mjs';

/** Pixels that differ where the whole world has moved; an animal changes fewer. */
const WALKED = 300;
/** Frames that a key may take: the next one, or the one after where a key comes while a frame is made. */
const AT_ONCE = 2;
/** Minimum distance of others beyond the newest update while updates are missing: a quarter of the distance on a quiet machine. */
const BEYOND_PX = 19;

/** How somebody else is shown, frame by frame. @param {import('playwright-core').Page} page @param {number} id @param {number} ms */
const shownSteps = (page, id, ms) => page.evaluate(([who, span]) => new Promise((resolve) => {
  const [from, seen] = [performance.now(), []];
  const look = () => {
    const { x, y, shown } = window.tickwire.players[who];
    seen.push({ x: shown.x, y: shown.y, newest: { x, y } });
    if (performance.now() - from < span) requestAnimationFrame(look);
    else resolve(seen);
  };
  requestAnimationFrame(look);
}), /** @type {const} */ ([id, ms]));

/** Waits until the own player has stood still for a second, which is longer than a lost segment holds up the line. @param {import('playwright-core').Page} page */
const standing = (page) => page.evaluate(() => new Promise((resolve) => {
  let [place, since] = ['', performance.now()];
  const look = () => {
    const { x, y } = window.tickwire.own;
    if (place !== `${x} ${y}`) [place, since] = [`${x} ${y}`, performance.now()];
    if (performance.now() - since > 1000) resolve(null);
    else requestAnimationFrame(look);
  };
  look();
}));

const far = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
/** Holds a key. */
const walkFor = async (page, key, ms) => {
  await page.keyboard.down(key);
  await sleep(ms);
  await page.keyboard.up(key);
};
/** Chooses conditions of the line that are no preset. */
const setNet = (page, net) => page.evaluate(async (text) => {
  const select = document.getElementById('p-net');
  if (![...select.options].some(({ value }) => value === text)) select.append(new Option(text));
  select.value = text;
  select.dispatchEvent(new Event('change'));
}, net);
const turn = (page, name, on) => page.evaluate(([id, wanted]) => {
  const field = document.getElementById(`p-${id}`);
  if (field.checked !== wanted) field.click();
}, /** @type {const} */ ([name, on]));

const game = await new Game().open(FLAGS);
const line = await relay(game.server.port);
try {
  const { bo } = game;
  // These draw each frame of the display.
  const browser = await launch(1);
  const page = async (who, size) => {
    const one = await (await browser.newContext({ viewport: size, reducedMotion: 'reduce' })).newPage();
    game.complaints.watch(one, who);
    return one;
  };
  const ada = await page('ada', { width: 640, height: 400 });
  await game.check('the page predicts on a line of 150 ms', async () => {
    await ada.goto(line.url);
    await until(ada, () => window.tickwire?.state === 'live', undefined, 20000);
    await ada.locator('#play').click();
    await until(ada, () => window.tickwire.predicted !== null, undefined, 20000);
    await sleep(5000);
    const { leadMs } = await state(ada, 'prediction');
    assert.ok(leadMs > ROUND_TRIP_MS, `a lead of ${leadMs} ms does not cover the round trip`);
    await watchCanvas(ada, '#world');
    return `lead ${Math.round(leadMs)} ms`;
  });
  for (const [name, { walks, ms }] of Object.entries({ on: { walks: 8, ms: 300 }, off: { walks: 3, ms: 1500 } })) {
    await game.check(name === 'on' ? 'a walk shows in the next frame' : 'without prediction it shows a round trip later', async () => {
      await turn(ada, 'prediction', name === 'on');
      await sleep(2000);
      const found = [];
      for (let tries = 0; found.length < walks && tries < 3 * walks; tries += 1) {
        await standing(ada);
        const from = await ada.evaluate(() => ({ x: window.tickwire.own.x, y: window.tickwire.own.y }));
        const one = await shownAfter(ada, 'dsaw'[tries % 4], { least: WALKED, holdMs: ms });
        await standing(ada);
        // A tree, a rock or the edge of the map may stand beside the player: then the next key.
        if (far(from, await state(ada, 'own')) > 20) found.push(one);
      }
      assert.ok(found.length === walks && found.every((one) => one !== null), JSON.stringify(found));
      // A busy machine may leave out a frame.
      if (name === 'on') assert.ok(found.filter(({ frames }) => frames <= AT_ONCE).length * 4 >= found.length * 3, JSON.stringify(found));
      // Something else may move at the moment of one key.
      else assert.ok(found.filter((one) => one.ms >= ROUND_TRIP_MS - 60).length * 3 >= found.length * 2, JSON.stringify(found));
      return `${found.map(({ frames, ms: after }) => `${frames} frames (${Math.round(after)} ms)`).join(', ')}`;
    });
  }
  await game.check('turns every 200 ms are seldom corrected', async () => {
    await turn(ada, 'prediction', true);
    const before = await state(ada, 'prediction');
    for (let turn = 0; turn < 50; turn++) {
      const key = ['d', 's', 'a', 'w', 'd', 'w', 'a', 's'][turn % 8];
      await ada.keyboard.down(key);
      await sleep(200);
      await ada.keyboard.up(key);
    }
    const { compared, corrected, p99ErrorPx, leadMs } = await state(ada, 'prediction');
    const [all, wrong] = [compared - before.compared, corrected - before.corrected];
    assert.ok(all > 100, `only ${all} updates were compared`);
    assert.ok(wrong < all / 5, `${wrong} of ${all} updates moved the own player`);
    return `${wrong} of ${all} updates corrected, 99 % of the last ones by at most ${p99ErrorPx.toFixed(2)} px, lead ${Math.round(leadMs)} ms`;
  });
  await game.check('the panel puts a simulated line before any server, and takes it away', async () => {
    await bo.goto(`${game.server.url}/?netem=transatlantic`);
    await until(bo, () => (window.tickwire?.stats.pingMs ?? null) !== null, undefined, 20000);
    assert.ok((await state(bo, 'stats')).pingMs >= 80);
    await bo.locator('#play').click();
    await until(bo, () => window.tickwire.id !== null);
    await bo.locator('#panel-button').click();
    assert.match(await bo.locator('#p-net-text').textContent(), /Atlantic.*delay 45 ms/);
    await bo.locator('#p-net').selectOption('');
    await until(bo, () => window.tickwire.stats.pingMs < 80, undefined, 15000);
    for (const name of ['prediction', 'reconciliation', 'interpolation', 'deadReckoning']) {
      await bo.locator(`#p-${name}`).click();
      assert.equal((await state(bo, 'prediction'))[name], false, name);
      await bo.locator(`#p-${name}`).click();
      assert.equal((await state(bo, 'prediction'))[name], true, name);
    }
  });
  const eve = await page('eve', { width: 640, height: 400 });
  const id = await state(bo, 'id');
  await game.check('without interpolation others stand between updates and jump; with it they move in each frame', async () => {
    await ada.goto('about:blank');
    await eve.goto(`${game.server.url}/?netem=delay=5ms`);
    await until(eve, () => window.tickwire?.state === 'live', undefined, 20000);
    await eve.locator('#play').click();
    await until(eve, () => window.tickwire.predicted !== null);
    await new Walker(eve).to(() => state(bo, 'own'), 200);
    const still = {};
    for (const on of [true, false]) {
      await turn(eve, 'interpolation', on);
      await sleep(500);
      const seeing = shownSteps(eve, id, 1600);
      for (const key of ['a', 'd']) await walkFor(bo, key, 700);
      const seen = await seeing;
      const walked = seen.slice(1).map((one, at) => far(one, seen[at]));
      // Of the time in which it walks: within three frames it has moved.
      const moving = walked.map((_, at) => Math.max(...walked.slice(Math.max(0, at - 3), at + 4)) > 0.5);
      still[on] = walked.filter((step, at) => moving[at] && step < 0.05).length / moving.filter(Boolean).length;
      if (!on) assert.ok(seen.every((one) => far(one, one.newest) < 1), 'the newest update is shown');
      else assert.ok(seen.some((one) => far(one, one.newest) > 5), 'it is shown late');
    }
    assert.ok(still.true < 0.2 && still.false > 0.35, JSON.stringify(still));
    return `${Math.round(still.true * 100)} % and ${Math.round(still.false * 100)} % of the frames show no movement`;
  });
  await game.check('while updates are missing others walk on, and stop without dead reckoning', async () => {
    await turn(eve, 'interpolation', true);
    const ahead = {};
    for (const on of [true, false]) {
      await turn(eve, 'deadReckoning', on);
      for (const key of ['a', 'd', 'w', 's', 'a', 'd']) {
        await setNet(eve, 'delay=5ms');
        await sleep(2500);
        const before = await state(bo, 'own');
        await bo.keyboard.down(key);
        await sleep(700);
        const seeing = shownSteps(eve, id, 700);
        // From now on all is half a second later, so that nothing comes for so long. A busy machine begins that later.
        await setNet(eve, 'delay=500ms');
        const seen = await seeing;
        await bo.keyboard.up(key);
        ahead[on] = Math.max(...seen.map((one) => (far(one, seen[0]) > far(one.newest, seen[0]) ? far(one, one.newest) : 0)));
        // Something may stand in the way, or the line is slow only after the measurement: then the next key.
        if (far(before, await state(bo, 'own')) > 150 && (!on || ahead[on] > BEYOND_PX)) break;
      }
    }
    assert.ok(ahead.true > BEYOND_PX && ahead.false < 2, JSON.stringify(ahead));
    return `${Math.round(ahead.true)} px and ${Math.round(ahead.false)} px beyond the newest update`;
  });
  await game.check('without reconciliation the own player stays where it was predicted', async () => {
    await setNet(eve, '');
    await turn(eve, 'deadReckoning', true);
    await sleep(1500);
    const corrections = {};
    const apart = {};
    // Walks the players into each other: each page predicts its own player beyond the position that the server allows.
    const collide = async (on) => {
      await new Walker(eve).to(() => state(bo, 'own'), 120);
      const [one, other] = [await state(eve, 'own'), await state(bo, 'own')];
      const [to, back] = Math.abs(other.x - one.x) > Math.abs(other.y - one.y)
        ? (other.x > one.x ? ['d', 'a'] : ['a', 'd']) : (other.y > one.y ? ['s', 'w'] : ['w', 's']);
      const before = (await state(eve, 'prediction')).corrected;
      await Promise.all([walkFor(eve, to, 1500), walkFor(bo, back, 1500)]);
      await sleep(700);
      corrections[on] = (await state(eve, 'prediction')).corrected - before;
      // A correction is shown over a moment, and a page that draws seldom takes longer.
      for (let wait = 0; wait < 60; wait += 1) {
        apart[on] = far(await state(eve, 'predicted'), await state(eve, 'own'));
        if (!on || apart[on] < 0.1) break;
        await sleep(50);
      }
      return on ? corrections[on] > 0 : apart[on] > 1;
    };
    for (const on of [false, true]) {
      await turn(eve, 'reconciliation', on);
      await sleep(300);
      // On a busy machine they may pass each other instead.
      for (let round = 0; round < 4 && !await collide(on); round += 1);
    }
    assert.ok(apart.false > 1 && apart.true < 0.1 && corrections.false === 0 && corrections.true > 0, `${JSON.stringify(apart)}, corrections ${JSON.stringify(corrections)}`);
    return `${apart.false.toFixed(1)} px beside the server, ${apart.true.toFixed(1)} px with it; corrections ${JSON.stringify(corrections)}`;
  });
  await browser.close();
  await game.check('no page error, console error, warning or failed request', () => {
    assert.deepEqual(game.complaints.list, []);
  });
} finally {
  line.kill();
  await game.browser.close();
  await game.server.stop().catch(() => game.server.kill());
}
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
