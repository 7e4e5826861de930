// The operator's page: the link of the banner, a grant with three clicks, commands and their answers, a grave button that asks.

import assert from 'node:assert/strict';
import { keep, state, until, watchFor } from '../lib/browser.mjs';
import { DESKTOP } from '../lib/game.mjs';

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

/** @param {import('../lib/game.mjs').Game} game */
export async function operator(game) {
  const { ada, ids } = game;
  const link = /http:\S+\/admin#\S+/.exec(game.server.log())?.[0] ?? '';
  const page = await game.page('operator', { viewport: DESKTOP });
  const row = page.locator('#players tr', { hasText: 'Ada' });
  await game.check('the link of the banner opens the operator\'s page, and the token leaves the address bar', async () => {
    await page.goto(link);
    await row.waitFor();
    assert.equal(page.url(), link.split('#')[0]);
    assert.equal(await page.evaluate(() => document.cookie), '');
    assert.equal(await row.locator('td').first().innerText(), String(ids.ada));
    assert.match(await page.locator('#figures').innerText(), /tick rate\s+30 Hz/);
  });
  await game.check('a grant by the table is felt by the player', async () => {
    const before = (await state(ada, 'resources')).stone;
    await row.getByRole('button', { name: 'Grant' }).click();
    await page.locator('#grant-resource').selectOption('stone');
    await page.locator('#grant-amount').fill('7');
    await page.locator('#grant button[value=grant]').click();
    await until(ada, (stone) => window.tickwire.resources.stone === stone, before + 7);
    await page.locator('#log', { hasText: `player ${ids.ada} received 7` }).waitFor();
  });
  await game.check('a command is answered, and the arrow keys bring it back', async () => {
    await page.locator('#line').fill('bans');
    await page.keyboard.press('Enter');
    await page.locator('#log', { hasText: 'no address is banned' }).waitFor();
    await page.keyboard.press('ArrowUp');
    assert.equal(await page.locator('#line').inputValue(), 'bans');
    await keep(page, 'operator');
  });
  await game.check('a press on Measure shows the memory by part, with what each figure includes', async () => {
    await page.locator('#measure').click();
    const rows = page.locator('#memory tr');
    await rows.first().waitFor();
    assert.match(await rows.first().innerText(), /^world\s+\d[\d\u202f]+\s+its snapshot/);
    assert.match(await page.locator('#memory').innerText(), /process\s+\d[\d\u202f]+\s+resident memory/);
    await keep(page, 'operator-memory');
  });
  await game.check('a press on Count shows the bytes by packet, with the shares of its fields', async () => {
    await page.locator('#count').click();
    const rows = page.locator('#traffic tr');
    await rows.first().waitFor();
    const texts = await rows.allInnerTexts();
    assert.match(texts.find((text) => text.startsWith('welcome')) ?? '', /^welcome\s+\d+\s+\d+\s+\d+ %\s+rules_hash \d+ %, /);
    const bytes = texts.map((text) => Number(text.split('\t')[2].replaceAll('\u202f', '')));
    assert.deepEqual(bytes, bytes.toSorted((one, other) => other - one));
    await keep(page, 'operator-traffic');
  });
  await game.check('a kick asks first, and is forgotten when nobody answers', async () => {
    const asked = watchFor(page, () => [...document.querySelectorAll('#players tr button')]
      .some((one) => one.textContent === 'Really?' && one.checkVisibility()));
    await row.getByRole('button', { name: 'Kick' }).click();
    await asked;
    await row.getByRole('button', { name: 'Kick' }).waitFor();
    assert.equal(await row.count(), 1);
  });
  await page.context().close();
  const phone = await game.page('operator on a phone', PHONE);
  await game.check('a phone shows the same without scrolling sideways', async () => {
    await phone.goto(link);
    await phone.locator('#players tr', { hasText: 'Ada' }).waitFor();
    await phone.locator('#count').click();
    await phone.locator('#traffic tr').first().waitFor();
    assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await keep(phone, 'operator-phone');
  });
  await phone.context().close();
}
