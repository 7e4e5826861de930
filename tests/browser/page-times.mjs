// Requests, connections and time until the game's page shows its first picture, its first frame and the world, over a line of 100 ms, in
// Chromium: with a cold cache, and again after a reload. Run by hand: `node page-times.mjs [path of a server | URL]...`; several servers
// take turns. A URL is that of a server or a proxy that runs already. TRIP_MS names another round trip, RUNS another number of runs, LIST=1
// lists the requests of the first run.
//
// The line delays every byte by half a round trip, and the first byte of a connection by a whole one more: the handshake of TCP.

import { connect, createServer } from 'node:net';
import { launch } from './lib/browser.mjs';
import { binary, start } from './lib/server.mjs';

const TRIP_MS = Number(process.env.TRIP_MS ?? 100);
const RUNS = Number(process.env.RUNS ?? 5);
const LIMIT_MS = 60_000;
const SETTLE_MS = 600;

/** @typedef {Awaited<ReturnType<typeof measure>>} Times */
/** @typedef {{ port: number, scheme: string, stop: () => Promise<unknown> }} Server */

/** A line to a port that delays what it carries, and counts its connections. */
class Line {
  /** @param {number} to */
  constructor(to) {
    this.connections = 0;
    this.server = createServer((client) => {
      this.connections += 1;
      const server = connect(to, '127.0.0.1');
      const opened = performance.now();
      carry(client, server, opened + TRIP_MS);
      carry(server, client, opened);
    });
  }

  async open() {
    await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', () => resolve(undefined)); });
    return `127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (this.server.address()).port}/`;
  }
}

/**
 * Carries the bytes of one direction, and its end.
 * @param {import('node:net').Socket} from @param {import('node:net').Socket} to @param {number} ready when the line can carry the first byte
 */
function carry(from, to, ready) {
  const later = (/** @type {() => void} */ call) => setTimeout(call, Math.max(0, ready - performance.now()) + TRIP_MS / 2);
  from.setNoDelay(true);
  from.on('data', (data) => later(() => { if (!to.destroyed) to.write(data); }));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => later(() => to.destroy()));
}

/** Runs in the page: notes the first frame, the first one after the server's first message, and when the page can be played. */
function noteFrames() {
  const next = window.requestAnimationFrame.bind(window);
  const times = { frame: 0, worldBegun: 0, world: 0, playable: 0 };
  let isWelcome = false;
  Object.defineProperty(window, 'drawnAt', { value: times });
  window.WebSocket = class extends WebSocket {
    constructor(/** @type {[string | URL, string[]]} */ ...how) {
      super(...how);
      this.addEventListener('message', () => { isWelcome = true; });
    }
  };
  window.requestAnimationFrame = (call) => next((time) => {
    if (isWelcome) times.worldBegun ||= performance.now();
    call(time);
    times.frame ||= performance.now();
    if (isWelcome) times.world ||= performance.now();
    if (isWelcome && window.tickwire) times.playable ||= performance.now();
  });
}

/**
 * Opens the page with a cold cache, and reloads it.
 * @param {import('playwright-core').Browser} browser @param {Server} server @param {boolean} isListed
 */
async function measure(browser, { port, scheme }, isListed) {
  const line = new Line(port);
  const url = `${scheme}//${await line.open()}`;
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.addInitScript(noteFrames);
  const from = performance.now();
  if (isListed) page.on('request', (request) => console.log(`${Math.round(performance.now() - from)} ms  ${request.url().replace(url, '/')}`));
  await page.goto(url, { waitUntil: 'commit' });
  const cold = await times(page, line);
  await page.reload({ waitUntil: 'commit' });
  const reload = await times(page, line);
  await context.close();
  line.server.close();
  return { cold, reload };
}

/** Waits until the page can be played. @param {import('playwright-core').Page} page @param {Line} line */
async function times(page, line) {
  await page.waitForFunction(() => window.drawnAt?.playable > 0, undefined, { timeout: LIMIT_MS, polling: 20 });
  // What was requested before the picture has arrived by then.
  await page.waitForTimeout(SETTLE_MS);
  const found = await page.evaluate(() => {
    const { drawnAt } = window;
    // A file from the cache has no transferred bytes. The document and the WebSocket are no resources.
    const before = performance.getEntriesByType('resource').filter(({ startTime, transferSize }) => startTime < drawnAt.worldBegun && transferSize > 0);
    const picture = performance.getEntriesByName('first-contentful-paint')[0].startTime;
    return { ...drawnAt, picture, html: performance.getEntriesByType('navigation')[0].responseEnd, requests: before.length + 2 };
  });
  const connections = line.connections;
  line.connections = 0;
  return { ...found, connections };
}

/** Starts a program, or takes the URL of a server. @param {string} program @returns {Promise<Server>} */
async function serverAt(program) {
  if (!/^https?:/.test(program)) return { ...await start(0, [], [], program), scheme: 'http:' };
  const { protocol, port } = new URL(program);
  return { port: Number(port), scheme: protocol, stop: async () => {} };
}

/** @param {number[]} values */
const median = (values) => values.sort((one, other) => one - other)[values.length >> 1];

const programs = process.argv.length > 2 ? process.argv.slice(2) : [binary()];
const servers = [];
for (const program of programs) servers.push({ ...await serverAt(program), program, runs: /** @type {Times[]} */ ([]) });
const browser = await launch(1);
try {
  for (let run = 0; run < RUNS; run += 1) for (const server of servers) server.runs.push(await measure(browser, server, run === 0 && process.env.LIST === '1'));
  for (const { program, runs } of servers) for (const kind of /** @type {(keyof Times)[]} */ (['cold', 'reload'])) {
    const shown = (/** @type {keyof Times['cold']} */ name) => Math.round(median(runs.map((run) => run[kind][name])));
    console.log(`${program}, a round trip of ${TRIP_MS} ms, ${kind === 'cold' ? 'cold cache' : 'after a reload'}, median of ${RUNS}:\n  ${shown('requests')} requests until the first frame with the server's map, `
      + `${shown('connections')} connections; the document after ${shown('html')} ms, the first picture after ${shown('picture')} ms, the first frame of the canvas after ${shown('frame')} ms, `
      + `the first one with the server's map after ${shown('world')} ms, playable after ${shown('playable')} ms`);
  }
} finally {
  await browser.close();
  for (const server of servers) await server.stop();
}
