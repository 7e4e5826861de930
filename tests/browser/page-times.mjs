// Requests, connections and time until the game's page shows its first pictures, over a line of 100 ms, with a cold cache, in Chromium.
// Run by hand: `node page-times.mjs [path of the server]`. TRIP_MS names another round trip, RUNS another number of runs, LIST=1 lists the
// requests of the first run.
//
// The line delays every byte by half a round trip, and the first byte of a connection by a whole one more: the handshake of TCP.

import { connect, createServer } from 'node:net';
import { launch } from './lib/browser.mjs';
import { start } from './lib/server.mjs';

const TRIP_MS = Number(process.env.TRIP_MS ?? 100);
const RUNS = Number(process.env.RUNS ?? 5);
const LIMIT_MS = 60_000;

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
    return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (this.server.address()).port}/`;
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

/** Runs in the page: notes when the first frame is drawn, and the first one after the server's `welcome`. */
function noteFrames() {
  const next = window.requestAnimationFrame.bind(window);
  const times = { frame: 0, world: 0 };
  Object.defineProperty(window, 'drawnAt', { value: times });
  window.requestAnimationFrame = (call) => next((time) => {
    call(time);
    const { tickwire } = window;
    if (!tickwire) return;
    times.frame ||= performance.now();
    if (tickwire.state === 'live') times.world ||= performance.now();
  });
}

/** Opens the page with a cold cache. @param {import('playwright-core').Browser} browser @param {number} port @param {boolean} isListed */
async function measure(browser, port, isListed) {
  const line = new Line(port);
  const url = await line.open();
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(noteFrames);
  let requests = 0;
  const from = performance.now();
  page.on('request', (request) => {
    requests += 1;
    if (isListed) console.log(`${Math.round(performance.now() - from)} ms  ${request.url().replace(url, '/')}`);
  });
  page.on('websocket', () => { requests += 1; });
  await page.goto(url, { waitUntil: 'commit' });
  await page.waitForFunction(() => window.drawnAt.world > 0, undefined, { timeout: LIMIT_MS, polling: 20 });
  const { frame, world, html } = await page.evaluate(() => ({
    ...window.drawnAt, html: performance.getEntriesByType('navigation')[0].responseEnd,
  }));
  const counts = { html, frame, world, requests, connections: line.connections };
  await context.close();
  line.server.close();
  return counts;
}

/** @param {number[]} values */
const median = (values) => values.sort((one, other) => one - other)[values.length >> 1];

const server = await start(0);
const browser = await launch(1);
try {
  const runs = [];
  for (let run = 0; run < RUNS; run += 1) runs.push(await measure(browser, server.port, run === 0 && process.env.LIST === '1'));
  const shown = (/** @type {keyof typeof runs[0]} */ name) => Math.round(median(runs.map((run) => run[name])));
  console.log(`a round trip of ${TRIP_MS} ms, cold cache, median of ${RUNS}: ${shown('requests')} requests, ${shown('connections')} connections; `
    + `the document after ${shown('html')} ms, the first frame after ${shown('frame')} ms, the first one with the server's map after ${shown('world')} ms`);
} finally {
  await browser.close();
  await server.stop();
}
