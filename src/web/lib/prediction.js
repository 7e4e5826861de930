/**
 * Predicts the local player: `prediction.wasm` runs the game's rules ahead of the server. The page
 * passes every sent and received message to it, and reads the predicted state once per frame.
 * Without the file, or for a game that it does not contain, the page renders the received state.
 *
 * @module lib/prediction
 */

/** Maximum number of messages that are buffered until the file is loaded. */
const MAX_BUFFERED_MESSAGES = 5000;
/** Offsets of the numbers that `src/game/prediction/exported_numbers.rs` lists. */
const FIELD = Object.freeze({ on: 0, tick: 1, part: 2, x: 3, y: 4, lead: 5, trip: 6, compared: 7, corrected: 8, last: 9, p99: 10, events: 11 });
const PX = 1 / 65536;
const HOW_TO_BUILD = 'The command `prediction` of a program with its own game builds it.';

/**
 * Predicted state: the tick, the position in px, and further numbers of the game.
 * @typedef {{ tick: number, x: number, y: number, numbers: number[] }} PredictedState
 */

/**
 * Kind of a packet: sent, received in the stream, or received by datagram.
 * @typedef {'sent' | 'received' | 'datagram'} Kind
 */

/**
 * A predicted event, such as a swing, as two numbers of the game.
 * @typedef {[number, number]} Event
 */

export class Prediction {
  /**
   * @param {(tag: string | null) => ReturnType<typeof import('../wasm/module.js').compileChanged>}
   *   load loads `prediction.wasm`, unless it still has the entity tag `tag`
   */
  constructor(load) {
    this.loadModule = load;
    /** Entity tag of the loaded file. @type {string | null} */
    this.tag = null;
    /** @type {import('../wasm/instance.js').WasmInstance | null} */
    this.wasm = null;
    /** @type {Promise<import('../wasm/instance.js').WasmInstance> | null} */
    this.loading = null;
    /** Whether prediction runs with the rules of this server. */
    this.isActive = false;
    this.hasFailed = false;
    /** Reason why there is no prediction, as a sentence; '' otherwise. */
    this.why = '';
    /** Last reason that `start` returned. */
    this.reportedWhy = '';
    /** Number of the connection, to detect that a newer one was started. */
    this.run = 0;
    /**
     * Messages that arrived or were sent before the file was loaded.
     * @type {{ bytes: Uint8Array, kind: Kind, nowMs: number }[]}
     */
    this.buffered = [];
    this.features = { prediction: true, reconciliation: true, interpolation: true, deadReckoning: true };
    /**
     * Current predicted state; null without a living local player or without prediction.
     * @type {PredictedState | null}
     */
    this.predicted = null;
    /** @type {Event[]} */
    this.events = [];
    /**
     * Lead of the prediction, number of comparisons and corrections, and the size of the last
     * correction and the 99th percentile of all sizes.
     */
    this.figures = { leadMs: 0, compared: 0, corrected: 0, lastErrorPx: 0, p99ErrorPx: 0 };
  }

  /** Loads the file. @returns {Promise<import('../wasm/instance.js').WasmInstance>} */
  async load() {
    this.loading ??= this.instantiate();
    try {
      this.wasm = await this.loading;
      return this.wasm;
    } catch (error) {
      // The next connection retries.
      this.loading = null;
      throw error;
    }
  }

  /** Loads the file, unless the loaded one is still the server's. */
  async instantiate() {
    const { wasm } = this;
    const loaded = await this.loadModule(wasm ? this.tag : null).catch((error) => {
      if (!wasm) throw error;
      return null;
    });
    if (loaded === null) return /** @type {import('../wasm/instance.js').WasmInstance} */ (wasm);
    const { WasmInstance } = await import('../wasm/instance.js');
    const instance = new WasmInstance(await WebAssembly.instantiate(loaded.module, {}));
    // A program with its own game registers the game.
    instance.wasm.main?.(0, 0);
    this.tag = loaded.tag;
    return instance;
  }

  /**
   * Loads the file, starts the prediction, and passes the buffered messages to it. `welcome` is one
   * of them.
   * @param {string} dialect
   * @param {string} table
   */
  async begin(dialect, table) {
    this.run += 1;
    const { run } = this;
    // The server may have been restarted with another file.
    if (this.wasm) this.loading = null;
    const wasm = await this.load();
    // A newer connection was started meanwhile.
    if (run !== this.run) return;
    wasm.setInputText(`${dialect}\n${table}`);
    this.isActive = wasm.wasm.prediction_start() === 1;
    this.setFeatures({});
    const { buffered } = this;
    this.buffered = [];
    for (const { bytes, kind, nowMs } of buffered) if (this.isActive) this.forward(bytes, kind, nowMs);
    if (!this.isActive) this.fail(`prediction.wasm does not have the game of the dialect ${dialect} with these packet tables. ${HOW_TO_BUILD}`);
    else if (wasm.wasm.prediction_has_rules() === 0) this.fail(`prediction.wasm has other rules than the server. ${HOW_TO_BUILD}`);
  }

  /**
   * Calls `begin` for a new connection. Without prediction the game continues, but input acts with
   * a delay.
   * @param {string} dialect
   * @param {string} table
   * @returns {Promise<string>} reason why there is no prediction; '' if there is, or if the same
   *   reason was returned before
   */
  async start(dialect, table) {
    await this.begin(dialect, table).catch((error) => this.fail(error));
    if (this.why === '' || this.why === this.reportedWhy) return '';
    this.reportedWhy = this.why;
    return this.why;
  }

  /** Resets the state for a new connection. */
  forget() {
    this.run += 1;
    this.why = '';
    this.hasFailed = false;
    this.isActive = false;
    this.predicted = null;
    this.buffered = [];
  }

  /** Stops the prediction after an error. The game continues without it. */
  fail(/** @type {unknown} */ error) {
    this.hasFailed = true;
    this.why = `There is no prediction: ${error instanceof Error ? error.message : error}`;
    this.isActive = false;
    this.predicted = null;
    this.buffered = [];
  }

  /**
   * Passes a received or sent message to the prediction.
   * @param {Uint8Array} bytes
   * @param {Kind} kind
   * @param {number} nowMs
   */
  onMessage(bytes, kind, nowMs) {
    if (this.isActive) this.forward(bytes, kind, nowMs);
    else if (!this.hasFailed && this.buffered.length < MAX_BUFFERED_MESSAGES) this.buffered.push({ bytes: bytes.slice(), kind, nowMs });
  }

  /** @param {Uint8Array} bytes @param {Kind} kind @param {number} nowMs */
  forward(bytes, kind, nowMs) {
    const { wasm } = this;
    if (!wasm) return;
    this.tryCall(() => {
      wasm.setInput(bytes);
      if (kind === 'sent') return wasm.wasm.prediction_send(nowMs);
      return kind === 'datagram' ? wasm.wasm.prediction_receive_datagram(nowMs) : wasm.wasm.prediction_receive(nowMs);
    });
  }

  /**
   * Returns the result of a call. If the call throws, stops the prediction and returns null.
   * @template T
   * @param {() => T} call
   * @returns {T | null}
   */
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

  /** Advances the prediction to this time. @param {number} nowMs */
  advance(nowMs) {
    this.predicted = null;
    const { wasm } = this;
    const bytes = this.isActive && wasm ? this.tryCall(() => wasm.outputBytes(wasm.wasm.prediction_advance(nowMs))) : null;
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

  /** Target tick of a command that is sent now; null without prediction. */
  get commandTick() {
    return this.features.prediction ? this.predicted?.tick ?? null : null;
  }

  /** Returns and removes the pending events. */
  takeEvents() {
    return this.events.splice(0);
  }

  /**
   * Extrapolates a position with constant velocity around obstacles.
   * @param {{ x: number, y: number }} from px
   * @param {{ x: number, y: number }} velocity px/tick
   * @param {number} ticks
   * @returns {{ x: number, y: number } | null} null without prediction
   */
  extrapolate(from, velocity, ticks) {
    if (!this.isActive || !this.wasm) return null;
    const fixed = (/** @type {number} */ px) => Math.round(px / PX);
    const { wasm } = this;
    const bytes = this.tryCall(() => wasm.outputBytes(wasm.wasm.prediction_extrapolate(fixed(from.x), fixed(from.y), fixed(velocity.x), fixed(velocity.y), ticks)));
    if (!bytes) return null;
    const [x, y] = new Int32Array(bytes.slice().buffer);
    return { x: x * PX, y: y * PX };
  }

  /** Turns features on or off. @param {Partial<Prediction['features']>} switches */
  setFeatures(switches) {
    Object.assign(this.features, switches);
    const { prediction, reconciliation } = this.features;
    this.wasm?.wasm.prediction_set_features(prediction ? 1 : 0, reconciliation ? 1 : 0);
  }
}
