// The page of exercises: a wrong bit is named and marked, the right answer counts, the address shares the question, and nothing overflows at four
// sizes. `node quiz.mjs [path of the server]`; screenshots go to tests/output/.

import assert from 'node:assert/strict';
import { boxesOf, outside } from './lib/boxes.mjs';
import { keep, until } from './lib/browser.mjs';
import { Game } from './lib/game.mjs';

const SIZES = [[1440, 900], [1280, 720], [390, 844], [844, 390]];
const RIGHT = '81 85 be 3f da 0d cc 56 ac 68 cc';

const game = await new Game().open();
const page = await game.page('quiz', { viewport: { width: 1440, height: 900 } });
const at = (/** @type {string} */ fragment) => `${game.server.url}/quiz#${fragment}`;
const says = (/** @type {string} */ selector, /** @type {RegExp} */ text) => page.locator(selector, { hasText: text }).waitFor({ timeout: 15000 });

/** Types an answer and checks it. @param {string} text */
async function answer(text) {
  await page.locator('#answer').fill(text);
  await page.keyboard.press('Enter');
}

await game.check('the address has the question, and the bytes are drawn while they are typed', async () => {
  await page.goto(at('lesson=1&seed=7'));
  await says('#task', /^A client sends the text "river"/);
  assert.equal(await page.locator('#lesson').inputValue(), '1');
  await page.locator('#answer').fill('81 05');
  await says('.figure .box', /MASK/);
  await page.locator('#answer').fill('81 0');
  await says('#note', /odd number of digits/);
  assert.equal(await page.locator('#verdict').isVisible(), false);
});

await game.check('a wrong answer names the bit and marks it, and the right one does not count after it', async () => {
  await answer('81 05 72 69 76 65 72');
  await says('#verdict-text', /^Wrong\. Byte 1, bit 0 \(mask\): is 0, must be 1/);
  assert.deepEqual(await page.locator('#bits .wrong').allInnerTexts(), ['0']);
  assert.equal(await page.locator('#bits span').count(), 8);
  assert.deepEqual(await page.locator('.figure .bit.changed').evaluateAll((all) => all.map((bit) => bit.dataset.bit)), ['8']);
  await keep(page, 'quiz-wrong');
  await answer(RIGHT);
  await says('#verdict-text', /^Right\.$/);
  assert.equal(await page.locator('#score').innerText(), '0 of 1 right');
});

await game.check('the next question and another lesson change the address, and the way back works', async () => {
  await page.click('#next');
  await page.waitForURL(/#lesson=1&seed=8$/);
  await says('#task', /Choose the key/);
  await page.locator('#lesson').selectOption('4');
  await page.waitForURL(/#lesson=4&seed=8$/);
  await says('#id', /^4-between-8$/);
  await answer('01 02 6f 63 89 00 80 03 65 61 6e');
  await says('#verdict-text', /^Right\.$/);
  assert.equal(await page.locator('.drawn-frame:not([hidden])').count(), 3);
  assert.equal(await page.locator('#score').innerText(), '1 of 2 right');
  await page.goBack();
  await says('#id', /^1-any_key-8$/);
});

await game.check('an answer in text is checked, a hint and an answer can be shown', async () => {
  await page.goto(at('lesson=10&seed=1'));
  await says('#id', /^10-lost-1$/);
  await page.click('#show-hint');
  await says('#hint-text', /least significant bit/);
  await answer('221');
  await says('#verdict-text', /^221 is wrong: bit n of ffffffef/);
  await page.click('#show-model');
  await says('#model', /^220$/);
});

await game.check('nothing overflows at four sizes, and the page scrolls to all of it', async () => {
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    for (const [name, fragment, text] of [['frame', 'lesson=1&seed=7', RIGHT.replace(/cc$/, 'cd')], ['three', 'lesson=4&seed=8', '01 02 6f 63 89 00 80 03 65 61 6f'],
      ['datagram', 'lesson=10&seed=2', 'd4 fc b3 57 06 3d 00 f9 f7 ff ff 7e'], ['packet', 'lesson=8&seed=1', '92 03 93 cc c7 cd 05 db cd 91 00']]) {
      await page.goto('about:blank');
      await page.goto(at(fragment));
      await until(page, () => document.querySelector('#id')?.textContent !== '');
      await answer(text);
      await page.locator('#verdict').waitFor();
      const size = `${name} at ${width} × ${height}`;
      const wide = await page.evaluate(() => [...document.querySelectorAll('html, body, #quiz, main, #exercise, #drawing')].filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.id || box.tagName));
      assert.deepEqual(wide, [], size);
      const boxes = await boxesOf(page, ['h1', '#lesson', '#answer', '#task', '#check', '#next']);
      assert.deepEqual(outside(boxes, { width, height }), [], size);
      await keep(page, `quiz-${name}-${width}`);
    }
  }
});

await game.check('the inspector links to the exercises', async () => {
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto(`${game.server.url}/wire`);
  const link = page.locator('#paste-form a');
  await link.waitFor();
  await page.goto(String(await link.evaluate((one) => one.href)));
  await until(page, () => document.querySelector('#id')?.textContent !== '');
});

const { code } = await game.server.stop();
assert.equal(code, 0);
await game.browser.close();
assert.deepEqual(game.complaints.list, []);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exit(game.failed === 0 ? 0 : 1);
