// What the inspector teaches: a masked frame as a whole in sight, unmasked step by step, and a frame with a flipped bit.

import assert from 'node:assert/strict';
import { keep, state, until } from '../lib/browser.mjs';

const DESK = { width: 1280, height: 720 };
const LANES = ['key', 'sent', 'again', 'meant', 'means'];

/** The bytes of a lane in hexadecimal. @param {import('playwright-core').Page | import('playwright-core').FrameLocator} page @param {string} kind */
export const lane = (page, kind) => page.locator(`#cells .lane.${kind} .cell`).allInnerTexts();

/** Header, key, bytes as sent, XOR, unmasked bytes and their meaning: each is in the window, whole, and they do not overlap. */
async function inSight(page, inspector, inWindow) {
  const boxes = { header: await inspector.locator('#figure').boundingBox() };
  for (const kind of LANES) boxes[kind] = await inspector.locator(`#cells .lane.${kind}`).first().boundingBox();
  boxes.byte = await inspector.locator('#byte').boundingBox();
  boxes.direction = await inspector.locator('#tree tr', { hasText: 'direction' }).boundingBox();
  inWindow(page, boxes);
  const tops = [boxes.header, ...LANES.map((kind) => boxes[kind]), boxes.byte];
  tops.slice(1).forEach((box, at) => assert.ok(box.y + 0.5 >= tops[at].y + tops[at].height, `${at}: ${JSON.stringify(tops)}`));
  const panes = await inspector.locator('#drawn').evaluate((box) => [box.scrollHeight, box.clientHeight]);
  assert.ok(panes[0] <= panes[1] + 1, `nothing scrolls: ${panes}`);
}

/** Labels name what stands beside them: sent XOR key is unmasked, and the first byte of a packet is an array of two. */
async function rightLabels(inspector) {
  const [key, sent, again, meant] = await Promise.all(LANES.slice(0, 4).map((kind) => lane(inspector, kind)));
  assert.equal(key.length, 4);
  // The tick of a world that has just begun is one byte, and later up to five.
  assert.ok(sent.length >= 6 && sent.length <= 16, `${sent.length} bytes`);
  sent.forEach((byte, at) => {
    assert.equal(again[at], key[at % 4]);
    assert.equal(parseInt(byte, 16) ^ parseInt(again[at], 16), parseInt(meant[at], 16));
  });
  assert.equal(meant[0], '92');
}

/** @param {import('../lib/game.mjs').Game} game @param {import('playwright-core').Page} wire shows a `move` */
async function readable(game, wire) {
  await game.check('on a phone each bit has its whole name, and no word of a value is cut', async () => {
    const before = wire.viewportSize();
    for (const [width, height] of [[390, 844], [844, 390]]) {
      await wire.setViewportSize({ width, height });
      const bits = await wire.locator('#figure .box:has(.bit:only-child) .name').evaluateAll((all) => all.map((name) => {
        const text = document.createRange();
        text.selectNodeContents(name);
        return { name: name.textContent, text: text.getBoundingClientRect().width, box: name.parentElement?.clientWidth ?? 0 };
      }));
      assert.equal(bits.length, 5);
      for (const { name, text, box } of bits) assert.ok(text <= box + 1, `${name} at ${width}: ${text} of ${box} px`);
      const wraps = await wire.locator('.lane .box div').evaluateAll((all) => all.map((one) => getComputedStyle(one).overflowWrap));
      assert.deepEqual([...new Set(wraps)], ['normal']);
    }
    await wire.setViewportSize(before);
  });
  await game.check('the help of the filter names a connection', async () => {
    await wire.locator('#filter-help summary').click();
    await wire.locator('#filter-help dt', { hasText: 'connection = 3' }).waitFor();
    await wire.locator('#filter-help summary').click();
  });
}

/** @param {import('../lib/game.mjs').Game} game @param {import('playwright-core').Page} wire shows a `move` */
export async function teaching(game, wire, inWindow) {
  await game.check('at 1280 × 720 header, key, masked bytes, XOR, unmasked bytes and fields of a move are in sight at once', async () => {
    const before = wire.viewportSize();
    await wire.setViewportSize(DESK);
    await inSight(wire, wire, inWindow);
    await rightLabels(wire);
    await keep(wire, 'wire-lanes');
    await wire.setViewportSize(before);
  });
  await readable(game, wire);
  await game.check('the XOR is stepped with keys: bits of the byte at hand, bytes after it still masked', async () => {
    const later = () => wire.locator('#cells .later').count();
    const bits = (kind) => wire.locator(`#byte .${kind} button`).allInnerTexts().then((all) => parseInt(all.join(''), 2));
    const meant = await lane(wire, 'meant');
    for (let at = 0; at < meant.length; at += 1) {
      await wire.keyboard.press('ArrowRight');
      assert.equal(await later(), meant.length - at - 1, `after byte ${at}`);
      assert.equal(await bits('sent') ^ await bits('key'), await bits('meant'));
      assert.equal(await bits('meant'), parseInt(meant[at], 16));
    }
    await wire.keyboard.press('ArrowLeft');
    assert.match(await wire.locator('#xor-at').innerText(), new RegExp(`^Byte ${meant.length - 2} of the payload`));
    await keep(wire, 'wire-xor');
    await wire.keyboard.press('x');
    await wire.locator('#xor-play', { hasText: 'Pause' }).waitFor();
    await wire.locator('#xor-play', { hasText: 'Play' }).waitFor({ timeout: 15000 });
    assert.equal(await later(), 0, 'it plays to the end');
  });
  await game.check('a flipped bit is judged in place; a connection that is not one\'s own gets nothing', async () => {
    await wire.keyboard.press('e');
    await wire.locator('#figure .bit[data-bit="8"]').click();
    await wire.locator('#verdict b', { hasText: 'mask_missing' }).waitFor();
    assert.match(await wire.locator('#verdict').innerText(), /1002 protocol error.*RFC 6455 section 5\.1/s);
    assert.match(await wire.locator('#difference').innerText(), /1 bit differs: bit 0 of byte 1, 1 → 0/);
    assert.ok(await wire.locator('#send').isDisabled() && await wire.locator('#send-why').innerText() !== '');
    await wire.locator('#undo').click();
    await wire.locator('#cells .sent .cell').last().click();
    // The masking key is random, so the byte may already be 0.
    const byte = wire.locator('#byte input');
    await byte.fill(await byte.inputValue() === '00' ? '01' : '00');
    assert.match(await wire.locator('#difference').innerText(), /bits? differ/);
    await wire.locator('#undo').click();
    const rules = [];
    for (const example of await wire.locator('#examples button').all()) {
      await example.click();
      rules.push(await wire.locator('#verdict').evaluate((box) => box.querySelector('b')?.textContent ?? box.dataset.kind));
    }
    // Where the last value is cut off, either it or the array that it belongs to is too short: that depends on the size of the others.
    assert.ok(['packet_truncated', 'packet_declared_size'].includes(rules[4]), rules[4]);
    assert.deepEqual(rules.toSpliced(4, 1), ['mask_missing', 'reserved_bit', 'reserved_opcode', 'message_too_long', 'fine']);
    await keep(wire, 'wire-flip');
    await wire.keyboard.press('e');
    assert.equal(await wire.locator('#editor').isVisible(), false);
    await rightLabels(wire);
  });
}

/** Sends a suggested flip. @param {import('playwright-core').FrameLocator} inside @param {string} example */
async function send(inside, example) {
  await inside.locator('#flip').click();
  await inside.locator(`#examples [data-example="${example}"]`).click();
  await inside.locator('#send').click();
}

/** What the story's lines are. @param {import('playwright-core').FrameLocator} inside */
const kinds = (inside) => inside.locator('#story-lines li').evaluateAll((lines) => lines.map((line) => line.dataset.kind));

/**
 * Sends the frame of the last key press without its MASK bit, reads the rule, and is back in the game.
 * @param {import('playwright-core').Page} page of the game, with the inspector beside it
 * @param {(page: import('playwright-core').Page, boxes: Record<string, any>) => void} inWindow
 */
export async function breakARule(page, inWindow) {
  const inside = page.frameLocator('#wire');
  const lives = await state(page, 'lives');
  await send(inside, 'mask');
  await inside.locator('#story-lines [data-kind="back"]').waitFor({ timeout: 15000 });
  assert.deepEqual(await kinds(inside), ['sent', 'broken', 'close', 'over', 'back']);
  const story = await inside.locator('#story-lines').innerText();
  for (const part of ['mask_missing', 'RFC 6455 section 5.1', '1002 protocol error', 'reason "mask_missing"']) assert.ok(story.includes(part), `${part}: ${story}`);
  inWindow(page, { story: await inside.locator('#story').boundingBox() });
  assert.equal(await inside.locator('#follow').getAttribute('aria-pressed'), 'false', 'the story holds the view');
  await until(page, (before) => window.tickwire.lives === before + 1 && window.tickwire.own !== null, lives);
}

/** The same beside the game. @param {import('../lib/game.mjs').Game} game */
export async function flipping(game, keysUntil, inWindow) {
  const page = await game.page('flip', { viewport: DESK });
  const inside = page.frameLocator('#wire');
  await game.check('beside the game the frame of the last key press is in sight as a whole, and stays', async () => {
    await page.goto(`${game.server.url}/?inspector`);
    await until(page, () => window.tickwire.state === 'live');
    await page.locator('#name').fill('Di');
    await page.locator('#play').click();
    await until(page, () => window.tickwire.own !== null);
    await inside.locator('#client option:checked', { hasText: 'Di' }).waitFor({ state: 'attached', timeout: 15000 });
    await keysUntil(page, inside.locator('#frame-title', { hasText: /^move/ }));
    await inSight(page, inside, inWindow);
    await rightLabels(inside);
    const chosen = inside.locator('#chosen');
    const before = await chosen.getAttribute('data-n');
    await page.mouse.move(200, 200);
    await page.mouse.move(300, 300, { steps: 10 });
    await page.waitForTimeout(1500);
    assert.equal(await chosen.getAttribute('data-n'), before, 'updates, pings and aims do not take its place');
    await keep(page, 'wire-pinned');
  });
  await game.check('beside the game the buttons show their keys while the inspector has the keyboard focus', async () => {
    const isShown = () => inside.locator('#flip kbd').evaluate((key) => key.checkVisibility({ visibilityProperty: true }));
    /** @param {boolean} wanted */
    const becomes = async (wanted) => {
      for (let tries = 0; await isShown() !== wanted; tries += 1) {
        assert.ok(tries < 100, `${wanted}`);
        await page.waitForTimeout(50);
      }
    };
    assert.equal(await isShown(), false);
    await inside.locator('#frame-title').click();
    await becomes(true);
    // The inspector passes this key on, and the focus with it.
    await page.keyboard.press('d');
    await becomes(false);
  });
  await game.check('a flipped bit is sent as one\'s own client: the rule, the close frame, and back in the game', async () => {
    await breakARule(page, inWindow);
    await keep(page, 'wire-story');
    const broken = await inside.locator('#chosen').getAttribute('data-n');
    await keysUntil(page, inside.locator(`#chosen:not([data-n="${broken}"]) #frame-title`, { hasText: /^move/ }));
  });
  await game.check('another direction breaks no rule: the server acts on it, and the next key is the page\'s again', async () => {
    await until(page, () => window.tickwire.own.direction === null);
    const wanted = await state(page, 'own').then((own) => own.sequence);
    await send(inside, 'direction');
    await inside.locator('#story-lines li', { hasText: 'The next update of your player' }).waitFor({ timeout: 15000 });
    assert.deepEqual(await kinds(inside), ['sent', 'fine', 'fine']);
    await until(page, (before) => window.tickwire.own.direction !== null && window.tickwire.own.sequence > before, wanted);
    await keep(page, 'wire-direction');
    await inside.locator('#story-close').click();
    await page.bringToFront();
    await page.keyboard.down('w');
    await page.keyboard.up('w');
    await until(page, () => window.tickwire.own.direction === null);
  });
  await page.context().close();
}
