// The game tanks through a whole round: two pages play with real keys and the mouse, a phone with two thumbs.
// `node tanks.mjs [path of the program]`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { boxesOf, outside, overlaps } from './lib/boxes.mjs';
import { keep, launch, until } from './lib/browser.mjs';
import { DESKTOP, Game } from './lib/game.mjs';
import { shownAfter, standsStill, watchCanvas } from './lib/next-frame.mjs';
import { start } from './lib/server.mjs';

process.env.TICKWIRE_BIN = process.argv[2] ?? fileURLToPath(new URL('../../target/debug/tickwire', import.meta.url));
process.argv.length = 2;

const game = await new Game().open(['--game', 'tanks,round=30']);
const { ada, bo } = game;
const phone = await game.page('phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

/** @param {import('playwright-core').Page} page @param {string} name */
async function enter(page, name, url = game.server.url) {
  await page.goto(url);
  await page.waitForSelector('#join:not([hidden])');
  await page.fill('#name', name);
  await page.click('#join button');
  await until(page, () => window.ownTank() !== null);
}

for (const page of [ada, bo, phone]) {
  await page.addInitScript(() => {
    window.ownTank = () => window.game?.newest('state')?.tanks.find(({ player }) => player === window.game.player) ?? null;
  });
}
// One of them in a browser that forbids storage.
await bo.addInitScript(() => Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('The operation is insecure.', 'SecurityError'); } }));
const own = (page) => page.evaluate(() => window.ownTank());
/** Where the own tank is drawn: in the middle, but for the edge of the map. @param {import('playwright-core').Page} page */
const place = (page) => page.evaluate(() => {
  const [{ x, y }, { camera }] = [window.ownTank(), window];
  return [(x / 2 - camera.x) * camera.scale + innerWidth / 2, (y / 2 - camera.y) * camera.scale + innerHeight / 2];
});

await game.check('the title card moves for nothing that arrives, and gives a name to a player without one', async () => {
  await ada.route(/tickwire\.js$/, async (route) => { await sleep(500); await route.continue(); });
  await ada.goto(game.server.url, { waitUntil: 'commit' });
  await ada.locator('#address').waitFor();
  const boxes = () => ada.evaluate(() => ['join', 'name', 'colours', 'count'].map((id) => Object.values(document.getElementById(id).getBoundingClientRect().toJSON()).join(' ')));
  const before = await boxes();
  await until(ada, () => /^\d+ playing|^The field is empty/.test(document.getElementById('count').textContent));
  assert.deepEqual(await boxes(), before);
  await ada.unroute(/tickwire\.js$/);
  await ada.check('#colours input[value="3"]', { force: true });
  const name = await ada.getAttribute('#name', 'placeholder');
  assert.match(name, /^[A-Z][a-z]+$/);
  await ada.click('#join button');
  await until(ada, (guest) => document.getElementById('scores').textContent.includes(guest), name);
  await until(ada, () => window.camera.scale * 40 >= 22);
  await ada.evaluate(() => sessionStorage.clear());
  await ada.goto('about:blank');
});

await game.check('See the wire opens the inspector next to the game, with the client of the page', async () => {
  await ada.goto(game.server.url);
  assert.equal(await ada.isChecked('#colours input[value="3"]'), true, 'the colour of the last visit');
  await ada.click('.see-wire');
  const client = ada.frameLocator('#wire').locator('#client option:checked', { hasText: 'watching' });
  await client.waitFor({ state: 'attached' });
  const number = /#\d+/.exec(await client.textContent())[0];
  await ada.fill('#name', 'Dee');
  await ada.click('#join button');
  await ada.frameLocator('#wire').locator('#client option:checked', { hasText: `${number} · Dee` }).waitFor({ state: 'attached' });
  await ada.evaluate(() => sessionStorage.clear());
  await ada.goto('about:blank');
});

await game.check('three enter, and every page lists them', async () => {
  await enter(ada, 'Ada');
  await enter(bo, 'Bo');
  await enter(phone, 'Cy');
  for (const page of [ada, bo, phone]) {
    await until(page, () => ['Ada', 'Bo', 'Cy'].every((name) => document.getElementById('scores').textContent.includes(name)));
  }
});

await game.check('keys turn the hull and drive, the mouse aims, and a shell flies in every page', async () => {
  const before = await own(ada);
  await ada.keyboard.down('d');
  await until(ada, (hull) => window.ownTank().hull !== hull, before.hull);
  await ada.keyboard.up('d');
  for (const key of ['w', 's']) {
    await ada.keyboard.down(key);
    const moved = ({ x, y }) => Math.hypot(window.ownTank().x - x, window.ownTank().y - y) > 4;
    await until(ada, moved, await own(ada));
    await ada.keyboard.up(key);
  }
  await bo.evaluate(() => {
    window.flown = 0;
    window.game.on('state', ({ shells }) => { window.flown = Math.max(window.flown, shells.length); });
  });
  // At rest, the newest state is what is drawn.
  await sleep(500);
  const [x, y] = await place(ada);
  // A shell that meets a wall at once is in no state, so the next one flies in another direction.
  for (const [turns, dx, dy] of [[0, 1, 0], [16384, 0, 1], [32768, -1, 0], [49152, 0, -1]]) {
    await ada.mouse.move(x + 150 * dx, y + 150 * dy);
    await until(ada, (aim) => Math.abs(((window.ownTank().turret - aim + 98304) % 65536) - 32768) < 1200, turns);
    const before = await ada.locator('#regular').textContent();
    await ada.mouse.down();
    await until(ada, (text) => document.getElementById('regular').textContent !== text, before);
    await ada.mouse.up();
    await sleep(500);
    if (await bo.evaluate(() => window.flown > 0)) break;
  }
  await until(bo, () => window.flown > 0);
  await ada.keyboard.press('e');
  await until(ada, () => document.getElementById('piercing').classList.contains('chosen'));
  await keep(ada, 'tanks');
});

await game.check('on a phone, the left thumb drives and the right thumb aims and fires', async () => {
  const before = await own(phone);
  const session = await phone.context().newCDPSession(phone);
  const touch = (type, touchPoints) => session.send('Input.dispatchTouchEvent', { type, touchPoints });
  await touch('touchStart', [{ x: 90, y: 600, id: 0 }, { x: 300, y: 600, id: 1 }]);
  await touch('touchMove', [{ x: 90, y: 550, id: 0 }, { x: 340, y: 600, id: 1 }]);
  await until(phone, ({ x, y, hull }) => {
    const tank = window.ownTank();
    return (tank.hull !== hull || tank.x !== x || tank.y !== y) && tank.shells < 40;
  }, before);
  await keep(phone, 'tanks-phone');
  await touch('touchEnd', []);
});

await game.check('nothing covers anything else, in nine sizes', async () => {
  const wrong = [];
  for (const lag of ['off', 'on']) {
    for (const page of [bo, phone]) await page.evaluate(() => document.getElementById('show-lag').click());
    for (const [width, height] of [[1440, 900], [1280, 720], [720, 450], [768, 1024], [844, 390], [667, 375], [390, 844], [360, 640], [320, 568]]) {
      const page = width > 1000 || width === 720 ? bo : phone;
      await page.setViewportSize({ width, height });
      await sleep(100);
      // The page draws the map into its canvas.
      const side = Math.min(150, width * 0.3, height * 0.3);
      const map = { name: 'map', x: width - side - 8, y: 8, right: width - 8, bottom: 8 + side };
      const ids = ['#scores', '#clock', '#own', '#tools', '#lag', ...(page === phone ? ['#kind'] : [])];
      const boxes = [map, ...await boxesOf(page, ids)];
      assert.ok(boxes.length >= (page === phone ? 6 : 5), `${boxes.map(({ name }) => name)} at ${width} × ${height}`);
      wrong.push(...[...outside(boxes, { width, height }), ...overlaps(boxes)].map((text) => `${width} × ${height}, lag ${lag}: ${text}`));
    }
  }
  assert.deepEqual(wrong, []);
});

await game.check('the round ends with its winner or without one, and the next one begins without points', async () => {
  await until(bo, () => /(wins?|Nobody wins) the round.* The next one begins in \d+ s\./.test(document.getElementById('say').textContent), undefined, 60_000);
  await until(bo, () => window.game.newest('state').round === 2 && !window.game.newest('state').over, undefined, 30_000);
  await until(bo, () => window.game.newest('roster').players.every(({ score, deaths }) => score === 0 && deaths === 0));
  for (const page of [ada, bo, phone]) await until(page, () => window.ownTank()?.shells === 40 && window.ownTank().health === 100);
});

await game.check('the inspector names the packets of the game', async () => {
  await ada.goto(`${game.server.url}/wire`);
  await ada.waitForFunction(() => [...document.querySelectorAll('#list li')].some((line) => line.querySelector('.name').firstChild?.textContent?.startsWith('state')));
});

// Rounds that do not end meanwhile.
const long = await start(0, ['--game', 'tanks,round=900']);
await game.check('on a line of 150 ms a key shows in the next frame, also while the mouse moves; without prediction a round trip later', async () => {
  const browser = await launch(1);
  try {
    const eve = await (await browser.newContext({ viewport: { width: 640, height: 400 } })).newPage();
    game.complaints.watch(eve, 'eve');
    await eve.goto(`${long.url}/?netem=delay=150ms,jitter=30ms,loss=2%25`);
    await eve.waitForSelector('#join:not([hidden])');
    await eve.fill('#name', 'Eve');
    await eve.click('#join button');
    await until(eve, () => (window.game?.predicted() ?? null) !== null);
    await sleep(5000);
    await eve.evaluate(() => {
      window.drawnTank = () => {
        const { x, y, hull } = window.game.interpolated('state').tanks.find(({ player }) => player === window.game.player);
        const { x: px, y: py, numbers } = window.game.predicted() ?? { x, y, numbers: [hull] };
        return [px, py, numbers[0]];
      };
    });
    await watchCanvas(eve, '#field', 'drawnTank');
    const sweep = async () => { for (let step = 0; step < 8; step += 1) await eve.mouse.move(500 + 10 * step, 150 + 9 * ((step * 5) % 8)); };
    const times = {};
    for (const [name, meanwhile, tries] of [['rest', undefined, 6], ['mouse', sweep, 6], ['off', undefined, 4]]) {
      if (name === 'off') {
        await eve.keyboard.press('p');
        await eve.click('#p-prediction');
        await eve.keyboard.press('p');
        // The mouse was at the panel: the turret turns there, which is seen.
        await eve.mouse.move(600, 200);
      }
      times[name] = [];
      for (let one = 0; one < tries; one += 1) {
        await standsStill(eve);
        times[name].push(await shownAfter(eve, one % 2 ? 's' : 'w', { least: 6, holdMs: 400, meanwhile }));
      }
      // A wall may be in the way of some.
      times[name] = times[name].filter((one) => one !== null);
      assert.ok(times[name].length >= tries / 2, `${name}: nothing was seen to move`);
    }
    // A busy machine may leave out a frame.
    const median = (list, name) => list.map((one) => one[name]).toSorted((a, b) => a - b)[list.length >> 1];
    for (const name of ['rest', 'mouse']) assert.ok(median(times[name], 'frames') <= 2, `${name}: ${JSON.stringify(times)}`);
    assert.ok(median(times.off, 'ms') >= 240, JSON.stringify(times));
    return Object.entries(times).map(([name, list]) => `${name}: ${list.map(({ frames }) => frames).join(' ')}`).join('; ');
  } finally {
    await browser.close();
  }
});

await game.check('the panel has switches and a graph, and interpolation off shows each state as it comes', async () => {
  await enter(ada, 'Ada', long.url);
  await enter(bo, 'Bo', long.url);
  await enter(phone, 'Cy', long.url);
  await phone.setViewportSize({ width: 390, height: 844 });
  for (const page of [bo, phone]) {
    await page.click('#show-panel');
    await page.locator('#p-net-row').waitFor();
    await page.locator('#p-ping', { hasText: /^\d+ ms$/ }).waitFor();
  }
  const steps = () => bo.evaluate((player) => new Promise((resolve) => {
    const [from, behind] = [performance.now(), []];
    const look = () => {
      const x = (state) => state.tanks.find((tank) => tank.player === player);
      const [shown, newest] = [x(window.game.interpolated('state')), x(window.game.newest('state'))];
      behind.push(Math.hypot(shown.x - newest.x, shown.y - newest.y));
      if (performance.now() - from < 700) requestAnimationFrame(look);
      else resolve(Math.max(...behind));
    };
    look();
  }), ids.ada);
  const ids = { ada: await ada.evaluate(() => window.game.player) };
  const behind = {};
  for (const on of [true, false]) {
    if (!on) await bo.click('#p-interpolation');
    for (const key of ['w', 's', 'd']) {
      await ada.keyboard.down(key);
      const seen = await steps();
      behind[on] = Math.max(behind[on] ?? 0, seen);
      await ada.keyboard.up(key);
    }
  }
  await bo.click('#p-interpolation');
  for (const name of ['reconciliation', 'deadReckoning']) {
    await bo.click(`#p-${name}`);
    assert.equal(await bo.evaluate((which) => window.game.features[which], name), false);
    await bo.click(`#p-${name}`);
  }
  assert.ok(behind.true > 4 && behind.false === 0, JSON.stringify(behind));
  const [box, high] = [await phone.locator('#panel').boundingBox(), phone.viewportSize()?.height ?? 0];
  assert.ok(box && box.y > high / 2 && box.y + box.height <= high, 'on a phone the tank is seen above the panel');
  await keep(phone, 'tanks-panel-phone');
  for (const page of [bo, phone]) await page.click('#panel-close');
  return `shown up to ${behind.true.toFixed(0)} half px behind the newest state, then 0`;
});

await game.check('L draws where a target was on this screen and on the server', async () => {
  const bots = spawn(process.env.TICKWIRE_BIN, ['bots', '--count', '30', '--play', '--seconds', '110', `ws://127.0.0.1:${long.port}`], { stdio: 'ignore' });
  try {
    await ada.evaluate(() => {
      window.circles = new Map([['#ffe9a8', 0], ['#ffffff', 0]]);
      const context = document.getElementById('field').getContext('2d');
      const arc = context.arc.bind(context);
      context.arc = (...all) => {
        if (window.circles.has(context.strokeStyle) && context.lineWidth === 2) window.circles.set(context.strokeStyle, window.circles.get(context.strokeStyle) + 1);
        return arc(...all);
      };
    });
    await ada.keyboard.press('l');
    assert.match(await ada.locator('#lag').textContent(), /compensation is on/);
    const [left, top] = await place(ada);
    await ada.mouse.move(left + 50, top);
    await ada.mouse.down();
    const both = () => ada.evaluate(() => ['#ffe9a8', '#ffffff'].every((colour) => window.circles.get(colour) > 0));
    await ada.keyboard.down('w');
    let turn = 0;
    for (const end = performance.now() + 90_000; !await both() && performance.now() < end;) {
      turn += 1;
      if (turn % 25 === 20) await ada.keyboard.down('d');
      if (turn % 25 === 0) await ada.keyboard.up('d');
      // At the nearest one; a shell that flies past it counts as well.
      const angle = await ada.evaluate(() => {
        const one = window.ownTank();
        const others = window.game.newest('state').tanks.filter(({ player, health }) => player !== window.game.player && health > 0);
        const [near] = others.sort((a, b) => Math.hypot(a.x - one.x, a.y - one.y) - Math.hypot(b.x - one.x, b.y - one.y));
        return near ? Math.atan2(near.y - one.y, near.x - one.x) : 0;
      });
      const [x, y] = await place(ada);
      await ada.mouse.move(x + 100 * Math.cos(angle), y + 100 * Math.sin(angle));
      await sleep(100);
    }
    assert.ok(await both(), 'both circles');
    for (const key of ['w', 'd']) await ada.keyboard.up(key);
    await keep(ada, 'tanks-lag');
    await ada.mouse.up();
    await ada.keyboard.press('l');
    assert.match(await ada.locator('#lag').textContent(), /compensation is off/);
    await ada.keyboard.press('l');
    assert.equal(await ada.locator('#lag').isVisible(), false);
    return 'a yellow circle and a white one';
  } finally {
    bots.kill();
  }
});

await game.browser.close();
await long.stop();
const { code } = await game.server.stop();
assert.equal(code, 0);
assert.deepEqual(game.complaints.list, []);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exit(game.failed === 0 ? 0 : 1);
