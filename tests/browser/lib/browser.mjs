// Chromium, and pages whose every complaint is kept.

import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

const OUTPUT = fileURLToPath(new URL('../../output/', import.meta.url));
// The one without a window first: it needs half the CPU time.
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

// A page draws each third frame of a display of 60 Hz. Here the CPU draws, and several pages that draw every frame would leave
// little to what runs beside them. FRAMES=1 draws every frame.
const EVERY = Number(process.env.FRAMES ?? 3);

/** Runs in a page: its animation frames are each so many of the display. @param {number} every */
function drawEvery(every) {
  const [next, cancel] = [window.requestAnimationFrame.bind(window), window.cancelAnimationFrame.bind(window)];
  const waiting = new Map();
  let newest = 0;
  const wait = (id, left, call) => waiting.set(id, next((time) => {
    if (left > 1) return wait(id, left - 1, call);
    waiting.delete(id);
    return call(time);
  }));
  window.requestAnimationFrame = (call) => {
    wait(newest += 1, every, call);
    return newest;
  };
  window.cancelAnimationFrame = (id) => {
    cancel(waiting.get(id));
    waiting.delete(id);
  };
}

/** CHROMIUM, or the first Chromium in PATH. */
function executable() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = process.env.CHROMIUM ?? folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((path) => existsSync(path));
  if (!found) throw new Error('no Chromium in PATH: install it (Debian: apt-get install chromium) or name it with CHROMIUM=');
  return found;
}

/**
 * Launches the browser.
 * @param {number} every each page draws one in this many frames of the display @param {string[]} further arguments of the browser
 */
export async function launch(every = EVERY, further = []) {
  const { chromium } = await import('playwright-core').catch(() => {
    throw new Error('playwright-core is missing: run npm ci in tests/browser');
  });
  mkdirSync(OUTPUT, { recursive: true });
  const browser = await chromium.launch({ executablePath: executable(), args: [...ARGUMENTS, ...further] });
  const plain = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await plain(options);
    if (every > 1) await context.addInitScript(drawEvery, every);
    return context;
  };
  return browser;
}

/** Addresses that pages ask for during an outage; after each welcome, whether `prediction.wasm` has changed. */
const ASKED = /\/(healthz|codes\.json|rules\.json|prediction\.wasm)$/;

/** What pages complained about, and whether the server is away on purpose. */
export class Complaints {
  constructor() {
    this.list = [];
    /** While true, failed WebSocket connections of these kinds are what the test wants to see. */
    this.outage = false;
    this.expected = /ERR_CONNECTION_REFUSED/;
    this.refused = 0;
  }

  /** @param {import('playwright-core').Page} page @param {string} who */
  watch(page, who) {
    page.on('pageerror', (error) => this.list.push(`${who}: page error: ${error.stack ?? error}`));
    page.on('console', (message) => this.console(who, message));
    page.on('requestfailed', (request) => this.request(who, request.url(), request.failure()?.errorText ?? ''));
    page.on('response', (response) => {
      if (response.status() >= 400) this.list.push(`${who}: ${response.status()} for ${response.url()}`);
    });
  }

  request(who, url, text) {
    // A poll ends with its page, so does the load of a module, and the tables are loaded for one attempt to connect.
    if (text === 'net::ERR_ABORTED' && /\/(healthz|codes\.json|rules\.json)$|\.(js|css|wasm)$/.test(url)) return;
    if (!this.outage || !ASKED.test(url) || !(this.expected.test(text) || text === 'net::ERR_ABORTED')) this.list.push(`${who}: failed request: ${url} ${text}`);
  }

  console(who, message) {
    if (!['error', 'warning'].includes(message.type())) return;
    const text = message.text();
    // Before the page opens a WebSocket, it requests the state of the server, the tables and the rules.
    if (this.outage && (/^(no connection|tickwire: no packet tables): /.test(text) || ASKED.test(message.location().url) && this.expected.test(text))) return;
    if (this.outage && /^WebSocket connection to '.*\/play[^']*' failed: /.test(text) && this.expected.test(text)) this.refused += 1;
    else this.list.push(`${who}: console ${message.type()}: ${text}`);
  }
}

/** Keeps a screenshot. @param {import('playwright-core').Page} page @param {string} name */
export async function keep(page, name) {
  await page.screenshot({ path: join(OUTPUT, `browser-${name}.png`) });
}

/** What the page's read-only hook says about one property. @param {import('playwright-core').Page} page @param {string} property */
export function state(page, property) {
  return page.evaluate((name) => window.tickwire[name], property);
}

/** Ends the program as failed after so many seconds. Call it once everything is compiled: a compiler has no time limit. @param {number} seconds */
export function limit(seconds) {
  setTimeout(() => {
    console.log(`FAILED: it has not ended within ${seconds} s`);
    process.exit(1);
  }, seconds * 1000).unref();
}

/** Waits until a function of the hook is true in the page. The page defines the hook after its first picture. */
export async function until(page, test, argument, timeout = 30000) {
  if (/window\.tickwire\./.test(String(test))) await page.waitForFunction(() => window.tickwire !== undefined, undefined, { timeout, polling: 'raf' });
  return page.waitForFunction(test, argument, { timeout, polling: 'raf' });
}

/**
 * As `until`, begun before what is seen only for a moment, and awaited after it. The page itself looks at each frame, so it does not
 * matter how late this process comes back to it. Whoever awaits it hears that it never came; until then nobody does.
 */
export function watchFor(page, test, argument, timeout) {
  const seen = until(page, test, argument, timeout);
  seen.catch(() => {});
  return seen;
}

/** Clicks with the real mouse where an element is. @param {import('playwright-core').Page} page @param {string} selector */
export async function press(page, selector) {
  const box = await page.locator(selector).boundingBox();
  if (!box) throw new Error(`${selector} is not shown`);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.up();
}

/** Waits until a count stays what it is for as long as two strokes take: a busy machine shows the last ones late. */
export async function settled(count) {
  let before = await count();
  for (let again = 0; again < 8; again += 1) {
    await sleep(700);
    const now = await count();
    if (now === before) return now;
    before = now;
  }
  throw new Error(`it goes on and on: ${before}`);
}
