// The pictures of README: plays the tab edition as a visitor would, and keeps what the page looks like on the way. `node film.mjs FOLDER` writes
// NUMBER-MS.png, each with the time for which it is shown, and wire.png, which stands still. scripts/pictures.sh makes the film.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, until } from './lib/browser.mjs';
import { serve, tabEdition } from './lib/static.mjs';

const VIEWPORT = { width: 1280, height: 720 };
const folder = process.argv[2];
mkdirSync(folder, { recursive: true });

const site = await serve(tabEdition());
const browser = await launch(1);
const page = await (await browser.newContext({ viewport: VIEWPORT })).newPage();
let count = 0;

/** What the page shows now. @param {number} ms for which it is shown */
async function shot(ms) {
  count += 1;
  await page.screenshot({ path: join(folder, `${String(count).padStart(3, '0')}-${ms}.png`) });
}

/** Moves the pointer there, and presses. @param {import('playwright-core').Locator} what */
async function press(what) {
  const { x, y, width, height } = await what.boundingBox();
  const to = [x + width / 2, y + height / 2];
  await page.evaluate(([left, top]) => window.pointAt(left, top, false), to);
  await shot(700);
  await page.evaluate(([left, top]) => window.pointAt(left, top, true), to);
  await shot(300);
  await page.mouse.click(to[0], to[1]);
  await page.evaluate(([left, top]) => window.pointAt(left, top, false), to);
}

/** Shows a key on the page. @param {string} name empty for none */
const cap = (name) => page.evaluate((text) => window.pressKey(text), name);

await page.addInitScript(() => {
  if (window.parent !== window) return;
  const add = (style) => {
    const box = document.createElement('div');
    box.style.cssText = `position: fixed; z-index: 99; pointer-events: none; ${style}`;
    document.body.append(box);
    return box;
  };
  let pointer = null;
  let key = null;
  window.pointAt = (x, y, isDown) => {
    pointer ??= add('width: 26px; height: 26px; margin: -13px; border-radius: 50%; border: 3px solid #fff; box-shadow: 0 0 6px #000');
    Object.assign(pointer.style, { left: `${x}px`, top: `${y}px`, background: isDown ? '#ffb000' : '#ffb00066', display: '' });
  };
  window.pressKey = (name) => {
    if (pointer) pointer.style.display = 'none';
    key ??= add('left: 250px; top: 560px; padding: 12px 22px; border-radius: 10px; background: #fff; color: #222; font: 700 30px sans-serif; box-shadow: 0 5px 0 #aaa');
    Object.assign(key.style, { display: name === '' ? 'none' : '' });
    key.textContent = name;
  };
});
await page.goto(site.url);
await until(page, () => window.tickwire?.state === 'live');
await page.locator('#edition-offline').waitFor();
await page.waitForTimeout(1500);
await shot(1500);

const inside = page.frameLocator('#wire');
await press(page.locator('#title-form .see-wire'));
await inside.locator('#list li').first().waitFor();
await page.waitForTimeout(500);
await press(page.locator('#play'));
await until(page, () => window.tickwire.own !== null);
await page.waitForTimeout(800);
await shot(700);

await cap('D');
await page.keyboard.down('d');
await inside.locator('#frame-title', { hasText: /^move/ }).waitFor();
for (let step = 0; step < 5; step += 1) await shot(220);
await page.keyboard.up('d');
await cap('');
await page.waitForTimeout(700);
await shot(1800);
await page.screenshot({ path: join(folder, 'wire.png') });

for (let step = 0; step < 7; step += 1) {
  await inside.locator('#xor-forward').click();
  await shot(650);
}
await press(inside.locator('#flip'));
await shot(1200);
await press(inside.locator('#examples [data-example="mask"]'));
await shot(2600);
await press(inside.locator('#send'));
await inside.locator('#story-lines [data-kind="back"]').waitFor();
await page.waitForTimeout(300);
await page.mouse.move(300, 640);
await page.evaluate(() => window.pressKey(''));
await shot(4500);
await browser.close();
process.exit(0);
