// From a key to the first drawn frame that differs, in frames that the page draws: the page itself looks at its canvas, so that it does not matter how
// late a busy machine comes back to the test.

import { setTimeout as sleep } from 'node:timers/promises';

/** Two strips of the canvas are compared, above and below the middle: the whole world moves there when the own player does. */
const [STRIP_PX, EDGE_PX] = [40, 60];
/** Maximum time from a key until its movement is shown. It covers the lead and the display delay after a stall of the machine; 2.1 s were seen. */
const SHOWN_MS = 4000;

/**
 * Begins to look at each frame. Call it after the page's own first frame.
 * @param {import('playwright-core').Page} page @param {string} selector of the canvas
 * @param {string} [position] a function of the page's `window` that returns where the own player is drawn. With it, a frame in which only
 *   others move does not count.
 */
export async function watchCanvas(page, selector, position) {
  await page.evaluate(([name, strip, edge, own]) => {
    const drawnAt = () => own && JSON.stringify(window[own]());
    const canvas = document.querySelector(name);
    const context = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    const look = { frame: 0, changedAt: performance.now(), armed: false, key: null, found: null, least: 0 };
    let before = null;
    const grab = () => {
      context.drawImage(canvas, 0, 0);
      return [edge, canvas.height - edge - strip].map((top) => new Uint32Array(context.getImageData(0, top, canvas.width, strip).data.buffer));
    };
    addEventListener('keydown', () => {
      if (!look.armed) return;
      Object.assign(look, { armed: false, key: { frame: look.frame, at: performance.now(), from: drawnAt() } });
    }, { capture: true });
    const see = () => {
      requestAnimationFrame(see);
      look.frame += 1;
      const now = grab();
      const changed = before ? now.reduce((sum, part, at) => sum + part.reduce((count, pixel, i) => count + Number(pixel !== before[at][i]), 0), 0) : 0;
      before = now;
      if (changed > 0) look.changedAt = performance.now();
      if (!look.key || changed < look.least || (own && drawnAt() === look.key.from)) return;
      look.found = { frames: look.frame - look.key.frame, ms: performance.now() - look.key.at };
      look.key = null;
    };
    requestAnimationFrame(see);
    window.look = look;
  }, /** @type {const} */ ([selector, STRIP_PX, EDGE_PX, position]));
}

/** Waits until nothing on the canvas has changed for a second, longer than a lost segment delays updates. @param {import('playwright-core').Page} page */
export async function standsStill(page) {
  await page.waitForFunction(() => performance.now() - window.look.changedAt > 1000);
}

/**
 * Presses a key, lets it go, and waits until the canvas has changed. Call {@link standsStill} before it: on a slow line, a movement from
 * the key before may still be under way.
 * @param {import('playwright-core').Page} page @param {string} key
 * @param {{ least: number, holdMs: number, meanwhile?: () => Promise<void> }} how `least`: pixels that must differ;
 *   `meanwhile`: what is done just before the key, such as a movement of the mouse
 * @returns {Promise<{ frames: number, ms: number } | null>} null if nothing has changed
 */
export async function shownAfter(page, key, { least, holdMs, meanwhile = async () => {} }) {
  await page.evaluate((pixels) => { Object.assign(window.look, { armed: true, key: null, found: null, least: pixels }); }, least);
  await meanwhile();
  await page.keyboard.down(key);
  await sleep(holdMs);
  await page.keyboard.up(key);
  await page.waitForFunction(() => window.look.found, undefined, { timeout: SHOWN_MS }).catch(() => {});
  return page.evaluate(() => { window.look.armed = false; return window.look.found; });
}
