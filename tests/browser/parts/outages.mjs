// A page that loses its line comes back to its player, with its things, or says why not: after 20 s in a tunnel, from another address, after a restart
// of the server with a saved world. It has a server of its own, and runs beside the other parts.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Complaints, press, state, until, watchFor } from '../lib/browser.mjs';
import { Forwarder } from '../lib/forwarder.mjs';
import { DESKTOP, FLAGS, rest } from '../lib/game.mjs';
import { start } from '../lib/server.mjs';

/** Longer than a page waits before it takes a silent line for dead, and less than the server keeps a player. */
const TUNNEL_MS = 20_000;
/** The number of a player who has left is not given again before. */
const NUMBER_REST_MS = 10_500;
/** Far more than it takes: this says only that it does not hang. */
const BACK_MS = 30_000;

/** A server, a line that can be cut, and a page that plays at its end. */
class Away {
  /** @param {{ browser: import('playwright-core').Browser }} game */
  async open(game) {
    this.folder = await mkdtemp(join(tmpdir(), 'tickwire-outages-'));
    this.kept = ['--journal', join(this.folder, 'journal')];
    this.server = await start(0, [...FLAGS, ...this.kept]);
    this.line = await new Forwarder(this.server.port).open();
    const context = await game.browser.newContext({ viewport: DESKTOP });
    this.page = await context.newPage();
    this.complaints = new Complaints();
    this.complaints.outage = true;
    // The line may break in the middle of a handshake, and without a server it ends every connection.
    this.complaints.expected = /ERR_CONNECTION_(REFUSED|RESET|CLOSED|ABORTED)|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED|Connection closed before receiving a handshake response/;
    this.complaints.watch(this.page, 'cy');
    await this.page.goto(`http://127.0.0.1:${this.line.port}/`);
    await until(this.page, () => window.tickwire?.state === 'live');
    await this.page.keyboard.type('Cy');
    await press(this.page, '#play');
    await until(this.page, () => window.tickwire.id !== null && window.tickwire.own !== null);
    this.server.order('grant Cy wood 123');
    await until(this.page, () => window.tickwire.figures.wood === 123);
    await rest(this.page);
  }

  /** What the player has, and how often the page has got a connection. */
  async now() {
    const things = await this.page.evaluate(() => {
      const { id, own, figures } = window.tickwire;
      return { id, x: own?.x, y: own?.y, figures };
    });
    return { things, lives: await state(this.page, 'lives') };
  }

  /** Waits until the page plays over another connection than before. Meanwhile the browser says that there is a network again, after which a page does not wait. */
  async back({ lives }) {
    await this.page.evaluate(() => { window.networks = setInterval(() => dispatchEvent(new Event('online')), 300); });
    await until(this.page, (before) => window.tickwire.state === 'live' && window.tickwire.lives > before && window.tickwire.own !== null, lives, BACK_MS);
    await this.page.evaluate(() => clearInterval(window.networks));
  }

  /** The page plays the player that it had, with its things. */
  async isSame(before) {
    let now = await this.now();
    // It hears of some of its things a moment after it is in its body.
    for (let wait = 0; wait < 60 && !isDeepStrictEqual(now.things, before.things); wait += 1) {
      await sleep(50);
      now = await this.now();
    }
    assert.deepEqual(now.things, before.things);
    assert.equal(await this.page.locator('#title').isVisible(), false);
  }

  /** Resolves once the page has said this. @param {string} text */
  says(text) {
    return watchFor(this.page, (part) => document.querySelector('#status-text')?.textContent?.includes(part), text, BACK_MS);
  }

  /** @param {string[]} flags */
  async restart(flags) {
    const { code } = await this.server.stop();
    assert.equal(code, 0, this.server.log());
    this.server = await start(this.server.port, [...FLAGS, ...flags]);
  }

  /** Waits until nobody plays. */
  async deserted() {
    for (let wait = 0; wait < 200; wait += 1) {
      const metrics = await (await fetch(`http://127.0.0.1:${this.server.port}/metrics`)).text();
      if (/^tickwire_players(\{[^}]*\})? 0$/m.test(metrics)) return;
      await sleep(100);
    }
    throw new Error('the player does not leave');
  }

  async close() {
    await this.page?.context().close();
    this.line?.close();
    await this.server?.stop().catch(() => this.server.kill());
    if (this.folder) await rm(this.folder, { recursive: true, force: true });
  }
}

/** @param {{ browser: import('playwright-core').Browser, check: (name: string, body: () => any) => Promise<void> }} game */
export async function outages(game) {
  const away = new Away();
  try {
    await away.open(game);
    await game.check('after 20 s without a line, of which the server knows nothing, the page is in its body again, with its things', async () => {
      const [before, end] = [await away.now(), sleep(TUNNEL_MS)];
      await away.line.fallSilent();
      await away.page.locator('#status-text', { hasText: /Connection lost|Reconnecting/ }).waitFor({ timeout: BACK_MS });
      await end;
      await away.line.reopen();
      await away.back(before);
      await away.isSame(before);
    });
    await game.check('a page that comes from another address is in its body again, with its things', async () => {
      const before = await away.now();
      away.line.from = '127.0.0.2';
      away.line.cut();
      await away.back(before);
      await away.isSame(before);
      away.server.order('players');
      for (let wait = 0; wait < 100 && !/127\.0\.0\.2 +"Cy"/.test(away.server.log()); wait += 1) await sleep(50);
      assert.match(away.server.log(), /127\.0\.0\.2 +"Cy"/);
    });
    await game.check('after a restart of the server that keeps its worlds, the page is in its body again, with its things', async () => {
      const before = await away.now();
      await away.restart(away.kept);
      await away.back(before);
      await away.isSame(before);
    });
    await game.check('after a restart that keeps nothing, the page plays on with a new player and says why', async () => {
      const [before, said] = [await away.now(), away.says('new world')];
      await away.restart(['--resume-seconds', '1']);
      await away.back(before);
      await said;
      assert.equal((await away.now()).things.figures.wood, 0);
    });
    await game.check('a page that comes back too late plays on with a new player and says why', async () => {
      const [before, said] = [await away.now(), away.says('has left the world')];
      await away.line.fallSilent();
      away.line.cut();
      await away.deserted();
      // Until the number may be given again: the page must not take the new player for its own.
      await sleep(NUMBER_REST_MS);
      await away.line.reopen();
      await away.back(before);
      await said;
      assert.equal((await away.now()).things.id, before.things.id);
    });
    await game.check('no page error or console error of the page that lost its line', () => {
      assert.deepEqual(away.complaints.list, []);
    });
  } finally {
    await away.close();
  }
}
