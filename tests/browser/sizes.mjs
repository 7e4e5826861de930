// The game at nine sizes of a window, in every state: nothing covers anything else, by bounding boxes. Then tanks and the inspector.
// `node sizes.mjs [path of the server]`; SHEET=FILE.png also writes a picture of all sizes and states. With DISK=1 scripts and styles come from
// src/web instead of the program, so that a style can be tried without a build.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { boxesOf, outside, overlaps } from './lib/boxes.mjs';
import { keep, state, until } from './lib/browser.mjs';
import { Game } from './lib/game.mjs';
import { start } from './lib/server.mjs';

/** Windows with a mouse, and phones and tablets by touch. */
const MOUSE = [[1440, 900], [1280, 720], [720, 450]];
const TOUCH = [[768, 1024], [844, 390], [667, 375], [390, 844], [360, 640], [320, 568]];
/** What floats in the game. */
const PARTS = ['#board', '#figures', '#minimap', '#tools', '#ages', '#hotbar', '#offers', '#strike-hint', '#hints', '#kills li', '#log li', '#chat', '#status', '#notice', '#speed'];
/** Cards and panels lie above what else floats: whoever opens them reads them. These are never below or above one. */
const SAID = ['#log li', '#chat', '#status', '#notice', '#kills li'];
const OTHERS = 9;
/** @type {{ who: string, page: import('playwright-core').Page, sizes: number[][] }[]} */
const PAGES = [];

const game = await new Game().open(['--map-size', '1440', '--address-rate-limits', 'off']);
/** @type {{ name: string, rows: { label: string, shots: { title: string, image: string, width: number, height: number }[] }[] }} */
const sheet = { name: '', rows: [] };

/** @param {import('playwright-core').Page} page */
async function fromDisk(page) {
  if (!process.env.DISK) return;
  const folder = fileURLToPath(new URL('../../src/web/', import.meta.url));
  await page.route(/\.(css|js)$/, (route) => route.fulfill({ path: folder + new URL(route.request().url()).pathname.replace(/^\/(v\/[0-9a-f]+\/)?/, '') }));
}

/** Others stand in the world, so that the board is full, and say something. They are sockets of the page, which speak by its own tables. */
async function crowd(page) {
  await page.evaluate(async (count) => {
    // The module that the page itself uses, with the version in its path.
    const { encode } = await import(new URL('net/protocol.js', document.querySelector('script[type=module]').src).href);
    window.others = await Promise.all(Array.from({ length: count }, (_, at) => new Promise((ready) => {
      const socket = new WebSocket('play', ['tickwire.v1']);
      socket.onopen = () => {
        socket.send(encode('hello', { version: 1, mode: 1, name: `Longest name ${at}.`, skin: at, resume_tick: null }));
        let sequence = 0;
        ready((text) => socket.send(encode('chat', { sequence: sequence += 1, tick: null, text })));
      };
    })));
  }, OTHERS);
  await until(page, (count) => window.tickwire.leaderboard.players >= count, OTHERS);
}

/** Enters, and fills the bar of items as after many ages. @param {import('playwright-core').Page} page */
async function enter(page) {
  await fromDisk(page);
  await page.goto(game.server.url);
  await until(page, () => window.tickwire?.state === 'live');
  await page.click('#play');
  await until(page, () => window.tickwire.own !== null && document.querySelectorAll('#hotbar button').length > 3);
  // Without transitions a box is at once where it ends.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  // A mouse on the button of the card would point at an item.
  await page.mouse.move(700, 200);
}

/** Shows what else floats after a while in a lively world: kills, and an age with its offers. @param {import('playwright-core').Page} page */
async function liven(page, offers) {
  await page.evaluate((hasOffers) => {
    // As the page makes them: they fade only after this time.
    const kill = (text) => Object.assign(document.createElement('li'), { innerHTML: text, style: 'animation-delay: 60s' });
    document.getElementById('kills').replaceChildren(...['One', 'Two', 'Three', 'Four', 'Five'].map((name) => kill(`<b>Longest name ${name}</b> died`)));
    const bar = document.getElementById('hotbar');
    while (bar.children.length < 9) bar.append(bar.lastElementChild.cloneNode(true));
    bar.style.setProperty('--slots', '9');
    bar.classList.add('many');
    document.getElementById('offers-row').replaceChildren(...[...bar.children].slice(0, hasOffers ? 6 : 0).map((one) => {
      const offer = document.createElement('div');
      offer.className = 'offer';
      offer.append(one.cloneNode(true), Object.assign(document.createElement('span'), { textContent: 'repeater crossbow' }));
      return offer;
    }));
    // The page hides them again with each frame, because the player is too young.
    const offers = document.getElementById('offers');
    if (hasOffers) Object.defineProperty(offers, 'hidden', { configurable: true, set() {} });
    else delete offers.hidden;
    offers.toggleAttribute('hidden', !hasOffers);
    document.documentElement.classList.toggle('choosing', hasOffers);
  }, offers);
}

/** Others say as many lines as the page shows. @param {import('playwright-core').Page} page */
async function talk(page) {
  await game.ada.evaluate(() => window.others.slice(0, 7).forEach((say) => say('thirty letters are said by all')));
  await until(page, () => document.querySelectorAll('#log li').length >= 5, undefined, 5000);
}

/** `shows` is the part without which it is not this state; `top` lies above the others. @type {Record<string, { begin: (page: any) => any, shows: string, top?: string, offers?: boolean, end?: (page: any) => any }>} */
const STATES = {
  playing: { begin: () => {}, shows: '#log li' },
  chatting: {
    shows: '#chat',
    begin: async (page) => {
      await page.evaluate(() => document.getElementById('chat-button').click());
      await page.locator('#chat').waitFor({ state: 'visible' });
    },
    end: (page) => page.evaluate(() => document.getElementById('chat-text').blur()),
  },
  choosing: { begin: () => {}, offers: true, shows: '#offers' },
  'the operator speaks': {
    shows: '#notice',
    begin: async (page) => {
      game.server.order('announce The server restarts in five minutes: you keep all');
      await page.locator('#notice').waitFor({ state: 'visible' });
    },
    // The notice would otherwise stay in the next state.
    end: async (page) => page.locator('#notice').waitFor({ state: 'hidden' }),
  },
  'the connection panel': {
    begin: async (page) => {
      await page.evaluate(() => document.getElementById('panel-button').click());
      await page.locator('#panel').waitFor({ state: 'visible' });
    },
    shows: '#panel',
    top: '#panel',
    end: (page) => page.evaluate(() => document.getElementById('panel-close').click()),
  },
  dead: {
    begin: async (page) => {
      const { x, y } = await state(page, 'own');
      for (let bull = 0; bull < 3; bull += 1) game.server.order(`spawn bull ${Math.round(x)} ${Math.round(y)}`);
      await page.locator('#death').waitFor({ state: 'visible', timeout: 60000 });
    },
    shows: '#death .paper',
    top: '#death .paper',
  },
};

/** Measures a state at a size. */
async function measure(page, name, [width, height], { top, shows, offers = false }) {
  await page.setViewportSize({ width, height });
  await liven(page, offers);
  // The page reads the new size with its next frames.
  await page.evaluate(() => new Promise((drawn) => { requestAnimationFrame(() => requestAnimationFrame(drawn)); }));
  await sleep(150);
  await liven(page, offers);
  const boxes = await boxesOf(page, top ? [...PARTS, top] : PARTS);
  const may = (one, other) => [one, other].includes(top) && ![one, other].some((part) => SAID.some((said) => part.startsWith(said)));
  const wrong = [...outside(boxes, { width, height }), ...overlaps(boxes, may)];
  if (!boxes.some((box) => box.name === shows)) wrong.push(`${shows} is not shown`);
  if (process.env.SHEET) await shoot(page, name, `${width} × ${height}`, [width, height]);
  return wrong.map((text) => `${width} × ${height}: ${text}`);
}

async function shoot(page, label, title, [width, height]) {
  const image = `data:image/png;base64,${(await page.screenshot({ scale: 'css' })).toString('base64')}`;
  const row = sheet.rows.find((one) => one.label === label) ?? { label, shots: [] };
  if (!sheet.rows.includes(row)) sheet.rows.push(row);
  row.shots.push({ title, image, width, height });
}

/** Each state in every page: death last, since its animals stay. */
async function floats() {
  for (const [name, one] of Object.entries(STATES)) {
    for (const { who, page, sizes } of PAGES) {
      await game.check(`${name}, by ${who}: nothing covers anything else`, async () => {
        await talk(page);
        await one.begin(page);
        const wrong = [];
        for (const size of sizes) {
          // A chat line is shown for some seconds only, and a busy machine may need them for one size.
          if (!await page.locator(one.shows).first().isVisible()) {
            await talk(page);
            await one.begin(page);
          }
          wrong.push(...await measure(page, name, size, one));
        }
        await one.end?.(page);
        assert.deepEqual(wrong, []);
      });
    }
  }
}

/** The page has no key to its life any more, but to its body, which is dead. @param {import('playwright-core').Page} page */
async function again(page) {
  await game.check('who has died, loads the page again and presses Play begins a life', async () => {
    await page.reload();
    await until(page, () => window.tickwire?.state === 'live');
    await page.evaluate(() => {
      window.cards = 0;
      new MutationObserver(() => { window.cards += 1; }).observe(document.getElementById('death'), { attributes: true });
    });
    await page.click('#play');
    await until(page, () => window.tickwire.own !== null || window.tickwire.dead !== null);
    assert.deepEqual([await state(page, 'dead'), await page.evaluate(() => window.cards)], [null, 0]);
  });
}

/** The inspector: its list is seen without a scroll, its parts do not overlap, and what the mouse points at while a frame is edited can be read. */
async function inspector(page) {
  await game.check('the inspector shows list and frame at every size', async () => {
    await fromDisk(page);
    await page.goto(`${game.server.url}/wire`);
    const name = await game.ada.evaluate(() => window.tickwire.players[window.tickwire.id].name);
    const client = page.locator('#client option', { hasText: name }).first();
    await client.waitFor({ state: 'attached' });
    await page.selectOption('#client', await client.getAttribute('value'));
    // In the whole list the row would be out of sight before a busy machine clicks on it.
    await page.locator('#filter').fill('move');
    const moved = page.locator('#list li[data-packet="move"]').first();
    for (let step = 0; step < 60 && await moved.count() === 0; step += 1) {
      await game.ada.keyboard.press('d');
      await sleep(200);
    }
    await moved.click();
    await page.locator('#filter').fill('');
    const wrong = [];
    for (const [width, height] of [...MOUSE, ...TOUCH]) {
      await page.setViewportSize({ width, height });
      await sleep(100);
      const boxes = await boxesOf(page, ['header', '.filters', '#strip', '#list', '.tools', '#frame', '#bytes']);
      const found = [...outside(boxes, { width, height }), ...overlaps(boxes)];
      for (const [name, least] of [['#list', 44], ['#frame', 120]]) {
        const box = boxes.find((one) => one.name === name);
        if (!box || box.bottom - box.y < least) found.push(`${name} shows ${box ? Math.round(box.bottom - box.y) : 'no'} px`);
      }
      wrong.push(...found.map((text) => `${width} × ${height}: ${text}`));
      if (process.env.SHEET) await shoot(page, 'the inspector', `${width} × ${height}`, [width, height]);
    }
    assert.deepEqual(wrong, []);
  });
  await game.check('what the mouse points at while a frame is edited can be read', async () => {
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.locator('#flip').click();
    await page.locator('#editor').waitFor({ state: 'visible' });
    await page.locator('#figure .bit').first().hover();
    const worst = await page.evaluate(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const light = (colours) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const colour of colours) {
          canvas.fillStyle = colour;
          canvas.fillRect(0, 0, 1, 1);
        }
        const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      };
      const below = (element) => (element ? [...below(element.parentElement), getComputedStyle(element).backgroundColor] : []);
      const contrasts = [...document.querySelectorAll('#figure .bit, #figure .name, #figure .value')].map((element) => {
        const [one, other] = [light(below(element)), light([...below(element), getComputedStyle(element).color])].sort((a, b) => a - b);
        return [(other + 0.05) / (one + 0.05), element.textContent];
      });
      return contrasts.sort(([one], [other]) => one - other)[0];
    });
    assert.ok(worst[0] >= 3, `contrast ${worst[0].toFixed(2)} of ${worst[1]}`);
  });
}

async function writeSheet(file) {
  const page = await game.page('sheet', { viewport: { width: 2600, height: 400 } });
  const rows = sheet.rows.map(({ label, shots }) => `<h2>${label}</h2><div>${shots.map(({ title, image, width, height }) => `<figure><img src="${image}" width="${Math.round(width * 340 / height)}" height="340"><figcaption>${title}</figcaption></figure>`).join('')}</div>`);
  await page.setContent(`<style>body { margin: 8px; background: #fff; font: 15px sans-serif } h2 { margin: 6px 0 } div { display: flex; flex-wrap: wrap; gap: 8px } figure { margin: 0 }</style>${rows.join('')}`);
  await writeFile(file, await page.screenshot({ fullPage: true }));
}

try {
  PAGES.push({ who: 'mouse', page: game.ada, sizes: MOUSE });
  PAGES.push({ who: 'touch', page: await game.page('phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }), sizes: TOUCH });
  await game.check('two pages play in a crowd', async () => {
    for (const { page } of PAGES) await enter(page);
    await crowd(game.ada);
  });
  if (game.failed === 0) {
    await inspector(await game.page('wire', { viewport: { width: 1280, height: 720 } }));
    await floats();
  }
  if (game.failed === 0) await again(game.ada);
  if (process.env.SHEET) await writeSheet(process.env.SHEET);
} finally {
  await game.browser.close();
  await game.server.stop().catch(() => game.server.kill());
}
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
