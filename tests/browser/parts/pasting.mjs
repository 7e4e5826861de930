// The box for pasted bytes: notations, the address of the page, errors, and its place at three sizes.

import assert from 'node:assert/strict';
import { keep, until } from '../lib/browser.mjs';

const MOVE = '828a37fa213da5f9b22cfafe91f077fa';
/** What is pasted, the frame of the address, and the note. */
const ROWS = [
  ['82 8a 37fa213d a5f9b22cfafe91f077fa', MOVE, ''],
  ['00000000: 828a 37fa 213d a5f9 b22c fafe 91f0 77fa  ..7.!=...,....w.\n', MOVE, 'Read as a hex dump with offsets.'],
  ['00000000  82 8a 37 fa 21 3d a5 f9  b2 2c fa fe 91 f0 77 fa  |..7.!=...,....w.|\n00000010\n', MOVE, 'Read as a hex dump with offsets.'],
  ['goo3+iE9pfmyLPr+kfB3+g==', MOVE, 'Read as Base64.'],
  [String.raw`b"\x82\x8a7\xfa!=\xa5\xf9\xb2,\xfa\xfe\x91\xf0w\xfa"`, MOVE, 'Read as text with escapes.'],
  ['kgOTEc0EsM1AAA==', '92039311cd04b0cd4000', 'Read as Base64. No frame header: these bytes are the payload of a message.'],
];
const SIZES = [[1440, 900], [1280, 720], [390, 844]];

/** @param {import('../lib/game.mjs').Game} game */
export async function pasting(game) {
  const page = await game.page('pasting', { viewport: { width: 1440, height: 900 } });
  await page.goto(`${game.server.url}/wire`);
  await page.locator('#status[data-state="open"]').waitFor({ timeout: 15000 });
  const frame = () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get('frame');
  await game.check('pasted bytes are explained in any notation, and the address has them', async () => {
    for (const [text, bytes, note] of ROWS) {
      await page.locator('#paste').fill(text);
      await page.keyboard.press('Enter');
      await page.locator('#frame-title', { hasText: bytes.startsWith('92') ? /^move.*10 bytes/ : /16 bytes/ }).waitFor({ timeout: 15000 });
      await page.waitForFunction((wanted) => location.hash.startsWith(`#frame=${wanted}`), bytes);
      assert.deepEqual([frame(), await page.locator('#paste-note').innerText()], [bytes, note], text);
    }
    await keep(page, 'wire-pasted');
  });
  await game.check('the address alone shows the same bytes, and the box has them', async () => {
    const other = await game.page('pasted', { viewport: { width: 1440, height: 900 } });
    await other.goto(`${game.server.url}/wire#frame=${MOVE}`);
    await other.locator('#frame-title', { hasText: /^move/ }).waitFor({ timeout: 15000 });
    assert.equal(await other.locator('#paste').inputValue(), MOVE.match(/../g).join(' '));
    await other.evaluate(() => { location.hash = 'frame=010348656c890080026c6f'; });
    await until(other, () => document.querySelectorAll('#list li').length === 3);
    await other.context().close();
  });
  await game.check('a wrong text is explained below the box, and the address stays', async () => {
    const before = page.url();
    await page.locator('#paste').fill('81 05\n48 6g');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.locator('#paste-note.problem', { hasText: 'line 2, column 5: \'g\' is not a hexadecimal digit' }).waitFor();
    assert.equal(page.url(), before);
    await page.locator('#paste').fill('  ');
    await page.keyboard.press('Enter');
    await page.locator('#paste-note', { hasText: 'Paste bytes first' }).waitFor();
  });
  await game.check('the box is within the window at each size, and nothing scrolls sideways', async () => {
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      for (const part of [page.locator('#paste'), page.getByRole('button', { name: 'Explain' })]) {
        const box = await part.boundingBox();
        assert.ok(box && box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height / 4, `${width}: ${JSON.stringify(box)}`);
      }
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
      assert.ok(await page.locator('#paste').evaluate((box) => box.value === '' || box.scrollWidth <= box.clientWidth));
      await keep(page, `wire-paste-${width}`);
    }
  });
  await page.context().close();
}
