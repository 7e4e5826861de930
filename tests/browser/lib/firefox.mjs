// Headless Firefox, controlled by its protocol Marionette: messages `length:json` on a TCP
// connection. Playwright cannot control the Firefox of a distribution.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const NAMES = ['firefox', 'firefox-esr'];
const START_MS = 60_000;
const DEFAULT_PORT = 2828;

/** FIREFOX, or the first Firefox in PATH; undefined without one. */
export function firefoxPath() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return process.env.FIREFOX ?? folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((path) => existsSync(path));
}

/** A Firefox with one page. */
export class Firefox {
  #waiting = new Map();
  #id = 0;
  #read = Buffer.alloc(0);

  /** Starts Firefox with a new profile. @param {string} path */
  async open(path, port = DEFAULT_PORT) {
    this.profile = mkdtempSync(join(tmpdir(), 'tickwire-firefox-'));
    writeFileSync(join(this.profile, 'user.js'), [
      `user_pref("marionette.port", ${port});`,
      'user_pref("app.update.disabledForTesting", true);',
      'user_pref("datareporting.policy.dataSubmissionEnabled", false);',
      'user_pref("network.captive-portal-service.enabled", false);',
      'user_pref("network.connectivity-service.enabled", false);',
    ].join('\n'));
    this.child = spawn(path, ['--headless', '--marionette', '--no-remote', '--profile', this.profile], { stdio: 'ignore', env: { ...process.env, HOME: this.profile } });
    this.socket = await this.#connect(port);
    this.socket.on('data', (data) => this.#onData(data));
    await this.call('WebDriver:NewSession', {});
    await this.call('WebDriver:SetTimeouts', { script: 60_000 });
    return this;
  }

  /** @returns {Promise<import('node:net').Socket>} */
  async #connect(port) {
    for (const end = performance.now() + START_MS; ; await sleep(100)) {
      try {
        return await new Promise((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => resolve(socket));
          socket.once('error', reject);
        });
      } catch (error) {
        if (performance.now() > end) throw error;
      }
    }
  }

  #onData(data) {
    this.#read = Buffer.concat([this.#read, data]);
    for (;;) {
      const colon = this.#read.indexOf(':');
      const length = Number(this.#read.subarray(0, colon));
      if (colon < 0 || this.#read.length < colon + 1 + length) return;
      const message = JSON.parse(this.#read.subarray(colon + 1, colon + 1 + length).toString());
      this.#read = this.#read.subarray(colon + 1 + length);
      // The first message is a greeting.
      if (!Array.isArray(message)) continue;
      const [, id, error, result] = message;
      const [resolve, reject] = this.#waiting.get(id) ?? [];
      this.#waiting.delete(id);
      if (error) reject?.(new Error(`${error.error}: ${error.message}`));
      else resolve?.(result);
    }
  }

  /** Sends a command. @param {string} name @param {object} values */
  call(name, values) {
    this.#id += 1;
    const text = JSON.stringify([0, this.#id, name, values]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => { this.#waiting.set(this.#id, [resolve, reject]); });
  }

  /** @param {string} url */
  goto(url) {
    return this.call('WebDriver:Navigate', { url });
  }

  /** Runs the body of a function in the page. Returns its result. @param {string} script @param {any[]} [args] */
  async evaluate(script, args = []) {
    return (await this.call('WebDriver:ExecuteScript', { script, args, sandbox: null })).value;
  }

  /** Waits until an expression is true in the page. @param {string} expression */
  async until(expression, ms = 30_000) {
    for (const end = performance.now() + ms; ; await sleep(100)) {
      if (await this.evaluate(`return Boolean(${expression})`)) return;
      if (performance.now() > end) throw new Error(`not within ${ms} ms: ${expression}`);
    }
  }

  /** Ends Firefox, and removes its profile. */
  async close() {
    this.socket?.destroy();
    this.child?.kill('SIGTERM');
    if (this.child) await new Promise((resolve) => { this.child.once('exit', resolve); });
    if (this.profile) rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
