// What the parts of the test share: the server, two pages that play, a client of its own on the wire, and checks.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Complaints, launch, state, until } from './browser.mjs';
import { start } from './server.mjs';

/** Side of the map: so small that no bull and no wolf lives there by nature, which would kill who stands and is looked at. */
export const MAP_PX = 3600;
export const FLAGS = ['--map-size', String(MAP_PX)];
export const DESKTOP = { width: 1280, height: 800 };
/** Keys that walk, with the way that each leads. */
const KEYS = { d: [1, 0], a: [-1, 0], s: [0, 1], w: [0, -1] };

export class Game {
  /**
   * Starts the server and opens two pages.
   * @param {string[]} [flags] of the server @param {string[]} [command] of the program @param {string} [host] address of the server
   */
  async open(flags = [], command = [], host = undefined) {
    this.complaints = new Complaints();
    this.passed = 0;
    this.failed = 0;
    this.server = await start(0, flags, command, undefined, host);
    this.browser = await launch();
    /** @type {import('playwright-core').Page} */
    this.ada = await this.page('ada', { viewport: DESKTOP });
    /** @type {import('playwright-core').Page} */
    this.bo = await this.page('bo', { viewport: DESKTOP });
    this.ids = { ada: 0, bo: 0 };
    /** @type {import('./wire.mjs').RawWatcher} */
    this.wire = /** @type {any} */ (null);
    return this;
  }

  /** A page of its own, whose complaints are kept. @param {string} who @param {object} options of the context */
  async page(who, options) {
    const page = await (await this.browser.newContext(options)).newPage();
    this.complaints.watch(page, who);
    return page;
  }

  /** Runs one check; what it throws is printed and counted. @param {string} name @param {() => any} body */
  async check(name, body) {
    const from = performance.now();
    try {
      const note = await body();
      this.passed += 1;
      console.log(`ok ${this.passed + this.failed} - ${name} (${Math.round(performance.now() - from)} ms)${note ? `: ${note}` : ''}`);
    } catch (error) {
      this.failed += 1;
      console.log(`not ok ${this.passed + this.failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
    }
  }

  /** The ids of both players, read from their pages. */
  async readIds() {
    for (const name of ['ada', 'bo']) {
      await until(this[name], () => window.tickwire.id !== null && window.tickwire.own !== null);
      this.ids[name] = await state(this[name], 'id');
    }
  }

  /** Everybody's position in every place where it is known, after all have come to rest: the same everywhere once each page has heard of it. */
  async positions() {
    await Promise.all([rest(this.ada), rest(this.bo)]);
    for (const end = performance.now() + 10_000; ;) {
      try {
        return await this.#agreed();
      } catch (error) {
        if (performance.now() > end) throw error;
        await sleep(100);
      }
    }
  }

  async #agreed() {
    const notes = [];
    for (const [name, own, other] of [['ada', this.ada, this.bo], ['bo', this.bo, this.ada]]) {
      const exact = await state(own, 'own');
      const seen = (await state(other, 'players'))[this.ids[name]];
      const wire = this.wire.players.get(this.ids[name]);
      for (const axis of ['x', 'y']) {
        near(seen[axis], exact[axis], 0.5, `${name}.${axis} in the other page`);
        near(wire[axis], exact[axis], 0.5, `${name}.${axis} on the wire`);
        near(seen.shown[axis], exact[axis], 1, `${name}.${axis} as drawn in the other page`);
      }
      notes.push(`${name} at ${wire.x}, ${wire.y}`);
    }
    return notes.join('; ');
  }
}

/** Clicks with the mouse where it is. */
export async function click(page) {
  await page.mouse.down();
  await page.mouse.up();
}

export const near = (actual, expected, slack, what) => assert.ok(Math.abs(actual - expected) <= slack, `${what}: ${actual}, not ${expected} ± ${slack}`);

/** As `near`, of what comes by another way than what was waited for, and so may come a little later. @param {() => number} actual */
export async function soonNear(actual, expected, slack, what) {
  for (let wait = 0; wait < 50 && !(Math.abs(actual() - expected) <= slack); wait++) await sleep(50);
  near(actual(), expected, slack, what);
}

/** Waits until a player stands still in its own page. */
export const rest = (page) => until(page, () => window.tickwire.own.vx === 0 && window.tickwire.own.vy === 0 && window.tickwire.own.direction === null);

/** Holds a key until somebody has walked at least this far, and lets go. @returns the key that led somewhere */
export async function walk(page, keys, px) {
  for (const key of keys) {
    const from = await state(page, 'own');
    await page.keyboard.down(key);
    const gone = await until(page, ([x, y, far]) => Math.hypot(window.tickwire.own.x - x, window.tickwire.own.y - y) > far,
      [from.x, from.y, px], 3000).then(() => true, () => false);
    await page.keyboard.up(key);
    if (gone) return key;
  }
  throw new Error(`no way for ${px} px with ${keys}`);
}

/** Walks with real keys, held and let go as a person would. */
export class Walker {
  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.page = page;
    /** @type {Set<string>} */
    this.held = new Set();
  }

  /** Holds the keys that lead this way, and no other. @param {number} dx @param {number} dy 0, 0 stands still */
  async steer(dx, dy) {
    const far = Math.hypot(dx, dy);
    const wanted = Object.keys(KEYS).filter((key) => far > 0 && (KEYS[key][0] * dx + KEYS[key][1] * dy) / far > 0.38);
    for (const key of [...this.held]) if (!wanted.includes(key)) await this.page.keyboard.up(key);
    for (const key of wanted) if (!this.held.has(key)) await this.page.keyboard.down(key);
    this.held = new Set(wanted);
  }

  /**
   * Walks until a place is close, around what stands in the way.
   * @param {() => Promise<{ x: number, y: number }>} where it is now @param {number} close px @param {number} [timeout] ms
   */
  async to(where, close, timeout = 40000) {
    const from = performance.now();
    let before = { x: NaN, y: NaN };
    let stuck = 0;
    while (performance.now() - from < timeout) {
      const goal = await where();
      const own = await state(this.page, 'own');
      const [dx, dy] = [goal.x - own.x, goal.y - own.y];
      if (Math.hypot(dx, dy) <= close) break;
      stuck = Math.hypot(own.x - before.x, own.y - before.y) < 4 ? stuck + 1 : 0;
      before = own;
      if (stuck >= 4) {
        // Something is in the way: to one side for a while, the next time to the other.
        const side = Math.floor(performance.now() / 3000) % 2 ? 1 : -1;
        await this.steer(-dy * side - dx * 0.2, dx * side - dy * 0.2);
        await sleep(700);
        stuck = 0;
      } else await this.steer(dx, dy);
      await sleep(50);
    }
    await this.steer(0, 0);
    const [own, goal] = [await state(this.page, 'own'), await where()];
    const left = Math.hypot(goal.x - own.x, goal.y - own.y);
    assert.ok(left <= close + 40, `${Math.round(left)} px from the goal after ${Math.round(performance.now() - from)} ms`);
  }

  /** Points the mouse at a place in the world. @param {{ x: number, y: number }} place */
  async look({ x, y }) {
    const own = await state(this.page, 'own');
    const angle = Math.atan2(y - own.y, x - own.x);
    await this.page.mouse.move(DESKTOP.width / 2 + 170 * Math.cos(angle), DESKTOP.height / 2 + 170 * Math.sin(angle));
  }
}

/**
 * Walks to where another can be seen, who may have gone far: the nearest tree is somewhere else in each run.
 * @param {import('playwright-core').Page} page @param {import('playwright-core').Page} other
 */
export async function follow(page, other) {
  await new Walker(page).to(() => state(other, 'own'), 550);
  await rest(page);
}

/**
 * Plays again if an animal has killed the player meanwhile: animals hunt whom they find, and differently in each run.
 * @param {import('playwright-core').Page} page @returns whether the player was dead
 */
export async function revive(page) {
  if ((await state(page, 'dead')) === null) return false;
  await page.locator('#again').click();
  await until(page, () => window.tickwire.own !== null);
  return true;
}

/**
 * Does what needs living players. If an animal kills one of them meanwhile, it plays again and the action is repeated.
 * @param {import('playwright-core').Page[]} pages @param {() => Promise<unknown>} action
 */
export async function alive(pages, action) {
  const reviveAll = async () => (await Promise.all(pages.map(revive))).includes(true);
  await reviveAll();
  for (let life = 1; ; life += 1) {
    try {
      await action();
      return;
    } catch (error) {
      if (life === 4 || !(await reviveAll())) throw error;
    }
  }
}
