// How soon a page shows a capture: for scripts/watch.sh. Prints ms: from the navigation to the first drawn frame of the world, until every tick was run once,
// the longest of 20 seeks to random ticks while that goes on and after it, and their median.
//
//   node watch-times.mjs URL

import { launch, until } from './lib/browser.mjs';

const [url] = process.argv.slice(2);
const SEEKS = 20;
const browser = await launch(1);
const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();

/** Runs in the page: resolves at the frame after a picture is there. */
const drawn = () => new Promise((done) => {
  const look = () => {
    const { tick = 0, seeking = null } = window.tickwire?.watch ?? {};
    // The frame in which it is seen is drawn before the next one begins.
    if (tick > 0 && seeking === null) requestAnimationFrame(() => done(performance.now()));
    else requestAnimationFrame(look);
  };
  look();
});
await page.goto(url, { waitUntil: 'commit' });
// performance.now() counts from the navigation; the address leads on to another, which counts too.
const first = await page.evaluate(drawn);
/** @param {number} part of the ticks that have come */
const seek = (part) => page.evaluate(async (at) => {
  const { first: low, last } = window.tickwire.watch;
  const tick = low + 1 + Math.floor(at * (last - low - 1));
  const begin = performance.now();
  location.hash = `tick=${tick}`;
  await new Promise((done) => {
    const look = () => {
      const { watch } = window.tickwire;
      if (watch.tick === tick && watch.seeking === null) requestAnimationFrame(() => done(undefined));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  return performance.now() - begin;
}, part);
const times = [];
for (let turn = 0; turn < SEEKS / 2; turn += 1) times.push(await seek(Math.random()));
await until(page, () => window.tickwire.watch.isWhole && window.tickwire.watch.indexed === window.tickwire.watch.last, undefined, 120_000);
const whole = await page.evaluate(() => performance.now());
for (let turn = 0; turn < SEEKS / 2; turn += 1) times.push(await seek(Math.random()));
const sorted = times.toSorted((one, other) => one - other);
console.log([first, whole, sorted[sorted.length - 1], sorted[SEEKS / 2]].map(Math.round).join(' '));
await browser.close();
