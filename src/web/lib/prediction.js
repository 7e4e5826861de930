/**
 * One's own player, ahead of the server: `prediction.wasm` runs the world's own rules for it. The page gives it every message that comes and goes, and asks
 * once a frame where the player is. Until the file is here, and for a game or rules that it does not have, the page shows what the server says.
 *
 * @module lib/prediction
 */

import { WasmInstance } from '../wasm/instance.js';

/** Messages of a connection that are kept until the file is here. */
const MAX_BUFFERED_MESSAGES = 5000;
/** Places of the numbers that `src/game/prediction/exported_numbers.rs` lists. */
const FIELD = Object.freeze({ on: 0, tick: 1, part: 2, x: 3, y: 4, lead: 5, trip: 6, compared: 7, corrected: 8, last: 9, p99: 10, events: 11 });
const PX = 1 / 65536;

/** What is predicted at a moment: the running tick, the place in px, and what the game shows besides. @typedef {{ tick: number, x: number, y: number, numbers: number[] }} PredictedState */

/** What shows but once, such as a swing, as two numbers of the game. @typedef {[number, number]} Event */

export class Prediction {
  /** @param {() => Promise<WebAssembly.Module>} load gets `prediction.wasm` */
  constructor(load) {
    this.loadModule = load;
    /** @type {WasmInstance | null} */
    this.wasm = null;
    /** @type {Promise<WasmInstance> | null} */
    this.loading = null;
    /** Whether the file has the rules of this server. */
    this.isActive = false;
    this.hasFailed = false;
    /** Why there is no prediction, as a sentence; '' while there is, or may be. */
    this.why = '';
    /** Number of the connection. */
    this.run = 0;
    /** Messages that came before the file, with whether they came or went. @type {{ bytes: Uint8Array, isReceived: boolean, nowMs: number }[]} */
    this.buffered = [];
    this.features = { prediction: true, reconciliation: true, interpolation: true, deadReckoning: true };
    /** What is shown now; null without a body, or without prediction. @type {PredictedState | null} */
    this.predicted = null;
    /** @type {Event[]} */
    this.events = [];
    /** How far the player is ahead of the newest update, the newest correction and the one that 99 % of the last updates did not exceed. */
    this.figures = { leadMs: 0, compared: 0, corrected: 0, lastErrorPx: 0, p99ErrorPx: 0 };
  }

  /** Gets the file. @returns {Promise<WasmInstance>} */
  async load() {
    this.loading ??= this.loadModule().then(async (module) => new WasmInstance(await WebAssembly.instantiate(module, {})));
    try {
      this.wasm = await this.loading;
      return this.wasm;
    } catch (error) {
      // The next connection tries again.
      this.loading = null;
      throw error;
    }
  }

  /** Begins when the file is here, with what has come meanwhile. @param {string} game @param {string} dialect @param {string} table */
  async begin(game, dialect, table) {
    this.run += 1;
    const { run } = this;
    const wasm = await this.load();
    // Another connection has begun meanwhile.
    if (run !== this.run) return;
    wasm.setInputText(`${game}\n${dialect}\n${table}`);
    this.isActive = wasm.wasm.predict_begin() === 1;
    this.hasFailed = !this.isActive;
    this.why = this.isActive ? '' : `There is no prediction: prediction.wasm does not have the rules of ${game === '' ? 'a game without a name' : `the game ${game}`} by these packet tables.`;
    this.setFeatures({});
    const { buffered } = this;
    this.buffered = [];
    for (const { bytes, isReceived, nowMs } of buffered) if (this.isActive) this.forward(bytes, isReceived, nowMs);
  }

  /** A new connection: nothing of the last one holds. */
  forget() {
    this.run += 1;
    this.why = '';
    this.hasFailed = false;
    this.isActive = false;
    this.predicted = null;
    this.buffered = [];
  }

  /** The file could not be loaded, or what it has come upon is an error of ours: one plays on without it. */
  fail(/** @type {unknown} */ error) {
    this.hasFailed = true;
    this.why = `There is no prediction: ${error instanceof Error ? error.message : error}`;
    this.isActive = false;
    this.predicted = null;
    this.buffered = [];
  }

  /** Takes a message that has come, or that is sent. @param {Uint8Array} bytes @param {boolean} came @param {number} nowMs */
  onMessage(bytes, isReceived, nowMs) {
    if (this.isActive) this.forward(bytes, isReceived, nowMs);
    else if (!this.hasFailed && this.buffered.length < MAX_BUFFERED_MESSAGES) this.buffered.push({ bytes: bytes.slice(), isReceived, nowMs });
  }

  /** @param {Uint8Array} bytes @param {boolean} came @param {number} nowMs */
  forward(bytes, isReceived, nowMs) {
    const { wasm } = this;
    if (!wasm) return;
    this.tryCall(() => {
      wasm.setInput(bytes);
      return isReceived ? wasm.wasm.predict_hear(nowMs) : wasm.wasm.predict_say(nowMs);
    });
  }

  /** The result of a call; null if it has failed, and then there is no prediction any more. @template T @param {() => T} call @returns {T | null} */
  tryCall(call) {
    try {
      return call();
    } catch (error) {
      console.error('prediction is off:', error);
      this.fail(error);
      this.wasm = null;
      this.loading = null;
      return null;
    }
  }

  /** Moves on to this moment. @param {number} nowMs */
  advance(nowMs) {
    this.predicted = null;
    const { wasm } = this;
    const bytes = this.isActive && wasm ? this.tryCall(() => wasm.outputBytes(wasm.wasm.predict_advance(nowMs))) : null;
    if (!bytes) return;
    const numbers = new Int32Array(bytes.slice().buffer);
    const { figures } = this;
    figures.leadMs = numbers[FIELD.lead] / 1000;
    figures.compared = numbers[FIELD.compared];
    figures.corrected = numbers[FIELD.corrected];
    figures.lastErrorPx = numbers[FIELD.last] * PX;
    figures.p99ErrorPx = numbers[FIELD.p99] * PX;
    const rest = FIELD.events + 1 + 2 * numbers[FIELD.events];
    for (let at = FIELD.events + 1; at < rest; at += 2) this.events.push([numbers[at], numbers[at + 1]]);
    if (numbers[FIELD.on] === 0) return;
    this.predicted = { tick: numbers[FIELD.tick], x: numbers[FIELD.x] * PX, y: numbers[FIELD.y] * PX, numbers: [...numbers.subarray(rest)] };
  }

  /** The tick that a command sent now is for; null if that is not known here. */
  get commandTick() {
    return this.features.prediction ? this.predicted?.tick ?? null : null;
  }

  /** The events since the last call. */
  takeEvents() {
    return this.events.splice(0);
  }

  /**
   * Where somebody is after some ticks who moves on as before.
   * @param {{ x: number, y: number }} from px @param {{ x: number, y: number }} velocity px a tick @param {number} ticks
   * @returns {{ x: number, y: number } | null} null if that is not known here
   */
  extrapolate(from, velocity, ticks) {
    if (!this.isActive || !this.wasm) return null;
    const fixed = (/** @type {number} */ px) => Math.round(px / PX);
    const { wasm } = this;
    const bytes = this.tryCall(() => wasm.outputBytes(wasm.wasm.predict_walk_on(fixed(from.x), fixed(from.y), fixed(velocity.x), fixed(velocity.y), ticks)));
    if (!bytes) return null;
    const [x, y] = new Int32Array(bytes.slice().buffer);
    return { x: x * PX, y: y * PX };
  }

  /** Turns parts on or off. @param {Partial<Prediction['features']>} switches */
  setFeatures(switches) {
    Object.assign(this.features, switches);
    const { prediction, reconciliation } = this.features;
    this.wasm?.wasm.predict_switch(prediction ? 1 : 0, reconciliation ? 1 : 0);
  }
}
