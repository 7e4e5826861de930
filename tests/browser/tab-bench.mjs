// What the tab edition costs: 20 bots and a player who walks, drawn by the software renderer. Prints frames a second, where the time goes, and how much
// memory is used as time passes. `node tab-bench.mjs [seconds] [wire]`: with `wire`, with the inspector beside the game.
//
// Time is CPU time of threads, from /proc, so that it adds up whatever else the machine does: `worker` is the server, `main` the page (and the inspector),
// of which the sampled profile says how much is script of the page, drawing, style and layout, and the browser's own; `raster` and `gpu` are the browser's
// threads and process that make pixels of what was drawn.

import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, press, until } from './lib/browser.mjs';
import { serve, tabEdition } from './lib/static.mjs';

const SECONDS = Number(process.argv[2] ?? 120);
const WITH_WIRE = process.argv[3] === 'wire';
const VIEWPORT = { width: 1280, height: 720 };
/** How long the profile samples the main thread, and how often, µs. */
const PROFILE_MS = 10_000;
const SAMPLE_US = 500;
const TICKS_PER_SECOND = 100;
/** Modules whose time is drawing. */
const DRAWS = /\/(draw-[\w-]+|sprites|minimap|hud-graph|camera)\.js$/;

const site = await serve(tabEdition());
const browser = await launch(1);
const page = await browser.newPage({ viewport: VIEWPORT });
const session = await page.context().newCDPSession(page);
await page.goto(site.url);
await until(page, () => window.tickwire?.state === 'live');
if (WITH_WIRE) await press(page, '#title-form .see-wire');
await press(page, '#play');
await until(page, () => window.tickwire.own !== null);

/** CPU time of all threads of Chromium by process and thread name, s. */
function threads() {
  const times = {};
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (!ours.has(Number(pid)) && !ours.has(parentOf(pid))) continue;
      ours.add(Number(pid));
      const kind = /--type=([\w-]+)/.exec(command)?.[1] ?? 'browser';
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
        const name = thread === pid ? 'main' : stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const key = `${kind}/${name}`;
        times[key] = (times[key] ?? 0) + (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
      }
    } catch {
      // A process or thread that has just ended.
    }
  }
  return times;
}

const parentOf = (pid) => Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
/** This process, and from the first look on its children and theirs. */
const ours = new Set([process.pid]);

/** Where the main thread is, in parts of the samples that are not idle. */
async function profile() {
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: SAMPLE_US });
  await session.send('Profiler.start');
  await sleep(PROFILE_MS);
  const { profile: { nodes, samples, timeDeltas } } = await session.send('Profiler.stop');
  const kinds = new Map(nodes.map(({ id, callFrame: { functionName, url } }) => [id, kindOf(functionName, url)]));
  const times = {};
  samples.forEach((id, i) => { times[kinds.get(id)] = (times[kinds.get(id)] ?? 0) + timeDeltas[i] / 1000; });
  return times;
}

function kindOf(name, url) {
  if (name === '(idle)') return 'idle';
  if (url === '') return name === '(garbage collector)' ? 'garbage' : 'browser';
  if (/\/wire[\w-]*\.js$|\/tickwire\.wasm|^wasm:/.test(url)) return 'inspector and frames';
  return DRAWS.test(url) ? 'drawing' : 'page script';
}

const memory = async () => {
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const stats = await page.evaluate(() => window.tickwireTab.stats());
  return { heap: usedSize / 1e6, wasm: stats.memoryBytes / 1e6, stats };
};

const walk = ['d', 's', 'a', 'w'];
const begin = { at: performance.now(), threads: threads(), ...(await memory()), frames: 0 };
console.log('     s   JS heap MB   WebAssembly MB   frames/s   worker ms per s   tick');
let before = begin;
let last = begin;
let profiled = null;
for (let turn = 0; (performance.now() - begin.at) / 1000 < SECONDS; turn += 1) {
  const key = walk[turn % walk.length];
  await page.keyboard.down(key);
  if (turn === 1) profiled = await profile();
  else await sleep(Math.min(10_000, SECONDS * 100));
  await page.keyboard.up(key);
  if (await page.evaluate(() => window.tickwire.dead !== null)) await page.locator('#again').click({ timeout: 3000 }).catch(() => {});
  const fps = await page.evaluate(() => window.tickwire.stats.framesPerSecond);
  await session.send('HeapProfiler.collectGarbage');
  last = { at: performance.now(), ...(await memory()) };
  const seconds = (last.at - before.at) / 1000;
  console.log([((last.at - begin.at) / 1000).toFixed(0).padStart(6), last.heap.toFixed(1).padStart(12), last.wasm.toFixed(1).padStart(16), fps.toFixed(1).padStart(10),
    ((last.stats.busyMs - before.stats.busyMs) / seconds).toFixed(0).padStart(17), String(last.stats.tick).padStart(6)].join(' '));
  before = last;
}
const seconds = (performance.now() - begin.at) / 1000;
const after = threads();
console.log(`\nCPU time of each thread, ms per second over ${seconds.toFixed(0)} s:`);
for (const [name, time] of Object.entries(after).map(([name, time]) => [name, (1000 * (time - (begin.threads[name] ?? 0))) / seconds]).sort((a, b) => b[1] - a[1])) {
  if (time >= 1) console.log(`  ${name.padEnd(36)} ${time.toFixed(0).padStart(5)}`);
}
if (profiled) {
  const sum = Object.values(profiled).reduce((total, ms) => total + ms, 0);
  console.log(`\nMain thread by its profile, ms per second over ${(sum / 1000).toFixed(0)} s:`);
  for (const [kind, ms] of Object.entries(profiled).sort((a, b) => b[1] - a[1])) console.log(`  ${kind.padEnd(36)} ${((1000 * ms) / sum).toFixed(0).padStart(5)}`);
}
const { stats } = last;
console.log(`\nserver: ${stats.clients} clients, ${stats.players} players, tick ${stats.tick}, ${stats.skipped} ticks skipped; its work took ${((stats.busyMs - begin.stats.busyMs) / seconds).toFixed(0)} ms per second`);
await browser.close();
await site.cut();
