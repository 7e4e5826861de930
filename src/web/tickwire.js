/**
 * Client library for the page of a game: connects and reconnects, sends and receives packets by
 * name, measures the ping, and interpolates between states. It reads the packets of the game from
 * the server's table, `codes.json`.
 *
 * ```js
 * import { connect } from './tickwire.js';
 *
 * const game = await connect({ name: 'Ann', units: true });
 * game.on('chat', ({ player, text }) => console.info(player, text));
 * addEventListener('keydown', () => game.send('move', { direction: Math.PI / 2 }));
 * const draw = () => { paint(game.interpolated('state')); requestAnimationFrame(draw); };
 * draw();
 * ```
 *
 * Only these packets are built in: `hello`, `join` and `ping` to the server, and `welcome`,
 * `spawned`, `pong` and `error` to the client. A dialect may lack most of them.
 *
 * @module tickwire
 */

import { wrongMode, captureFromQuery } from './lib/address.js';
import { formatTable } from './lib/codec.js';
import { EntityLists } from './lib/entities.js';
import { Handlers } from './lib/handlers.js';
import { EDITION, GAME } from './wasm/edition.js';
import { Heartbeat } from './lib/heartbeat.js';
import { NetHistory } from './lib/net-history.js';
import { NetemLink } from './lib/netem.js';
import { MODE, ReconnectingConnection, VERSION } from './lib/connection.js';
import { NO_LOCKSTEP } from './lib/close-reasons.js';
import { NewestStates } from './lib/lane.js';
import { Lockstep } from './lib/lockstep.js';
import { Prediction } from './lib/prediction.js';
import { ResumeTick } from './lib/resume.js';
import { StateBuffer } from './lib/state-buffer.js';
import { netemOf, workerHost } from './wasm/worker-host.js';
import { compileChanged, wasmModule } from './wasm/module.js';
import { PlaybackConnection } from './playback/connection.js';

export { HeldKeys, HeldPointers } from './lib/held.js';
export { ThumbSticks } from './lib/thumb-sticks.js';
export { local } from './lib/stored.js';
export { newPrivateRoomUrl } from './lib/address.js';

/** Number of recent round trips whose median is `game.ping`. */
const PINGS = 5;

/**
 * Options of `connect`, which tickwire.d.ts describes.
 * @typedef {import('./tickwire.d.ts').Options<any>} Options
 */

/**
 * Connects to the server of this module.
 * @param {Options} [options]
 * @returns {Promise<Game>} resolves after `welcome`; waits while the server is unreachable
 * @throws {Error} if the server has no packet tables, lacks the dialect, or rejects the page
 */
export function connect(options = {}) {
  return new Promise((fulfil, reject) => {
    const game = new Game(options, () => fulfil(game), ({ text }) => reject(new Error(text)));
  });
}

/** Connection to a game, created by `connect`. */
export class Game {
  #handlers = new Handlers();
  /** @type {import('./lib/codec.js').Dialect | null} */
  #dialect = null;
  /** @type {StateBuffer | null} */
  #states = null;
  #entities = new EntityLists();
  #connection;
  #options;
  /** Arguments of `hello` and `join`. @type {Record<string, any>} */
  #player;
  #isSpectating;
  #sequence = 0;
  #resumeTick = new ResumeTick();
  #heartbeat = new Heartbeat((nonce) => this.#ping(nonce), () => this.#connection.abandon());
  /** @type {number[]} */
  #pings = [];
  /** @type {Prediction | null} */
  #prediction = null;
  /** Instance of `prediction.wasm` with the rules and the network model. */
  #rules = new Prediction((tag) => compileChanged(new URL('wasm/prediction.wasm', import.meta.url), tag));
  #netem = new NetemLink();
  #features = { prediction: true, reconciliation: true, interpolation: true, deadReckoning: true };
  /** @type {Lockstep | null} */
  #lockstep = null;
  /** Whether this connection requested lockstep. */
  #isInLockstep = false;
  /** Newest tick of an update. */
  #newestTick = 0;
  #newest = new NewestStates();
  #resolveConnected;
  #rejectConnected;

  /**
   * @param {Options} options @param {() => void} begun
   * @param {(closed: import('./lib/connection.js').CloseInfo) => void} failed
   */
  constructor(options, begun, failed) {
    this.#options = options;
    this.#player = { name: options.name, ...options.hello };
    this.#isSpectating = options.spectate ?? false;
    this.#resolveConnected = begun;
    this.#rejectConnected = failed;
    /**
     * `reconnecting` during an outage, `closed` for good.
     * @type {'connecting' | 'open' | 'reconnecting' | 'closed'}
     */
    this.state = 'connecting';
    /** Identity of the game: seed, rates, epoch. @type {Record<string, any> | null} */
    this.welcome = null;
    /** Number of the local player; null while the page has no player. @type {number | null} */
    this.player = null;
    /**
     * Reason why there is no connection; null while there is one.
     * @type {import('./lib/connection.js').CloseInfo | null}
     */
    this.closed = null;
    /**
     * Counters of the page. `unknown`: packets that the tables lack; `unreadable`: bytes that are
     * no packet.
     */
    this.counts = { messagesIn: 0, messagesOut: 0, bytesIn: 0, bytesOut: 0, unknown: 0, unreadable: 0 };
    // A capture in the address replaces the server.
    const asked = globalThis.location ? captureFromQuery(location.search) : null;
    const isGame = asked === null;
    /** Round trips, gaps, leads and corrections of the last seconds. */
    this.history = new NetHistory();
    if (isGame && options.predict) this.#prediction = this.#rules;
    if (isGame && options.mode === 'lockstep') this.#lockstep = new Lockstep(wasmModule);
    for (const [name, handler] of Object.entries(options.on ?? {})) if (handler) this.on(name, handler);
    const listener = {
      onOpen: (/** @type {import('./lib/codec.js').Dialect} */ dialect) => this.#onOpen(dialect),
      onMessage: (/** @type {Uint8Array} */ bytes, now = performance.now()) => this.#onBytes(bytes, now),
      onDatagramPacket: (/** @type {Uint8Array} */ bytes, /** @type {number} */ now) => this.#onDatagramPacket(bytes, now),
      onClose: (/** @type {import('./lib/connection.js').CloseInfo} */ closed) => this.#onClose(closed),
      onPageReturn: () => this.#heartbeat.probe(performance.now()),
    };
    this.#connection = isGame ? new ReconnectingConnection(options, listener) : new PlaybackConnection(asked, options.game ?? GAME, options, listener);
    this.#start(isGame ? options.net ?? netemOf(globalThis.location?.search ?? '') : '');
  }

  /**
   * Opens the connection, through a simulated network if the options have one. In the browser
   * edition, the server worker simulates the network.
   * @param {string} net
   */
  async #start(net) {
    if (this.#connection instanceof ReconnectingConnection && EDITION !== 'tab' && (net !== '' || this.#options.net !== undefined)) {
      this.#connection.wrapSocket = (socket) => this.#netem.wrapSocket(socket);
      this.#connection.wrapChannel = (open) => this.#netem.wrapChannel(open);
      if (net !== '') await this.netem().then((line) => line.setNetem(net)).then(({ error }) => error, ({ message }) => message).then((why) => {
        if (why !== undefined) this.#warn('network_unavailable', `net=${net}: ${why}. No network is simulated`);
      });
    }
    const wrong = wrongMode(this.#options.mode);
    if (wrong !== '') this.#warn('mode_unknown', wrong);
    if (this.state !== 'closed') this.#connection.open();
  }

  /**
   * Returns the simulated network of the option `net`: its `presets`, the current conditions
   * (`net`), and `setNetem(text)`.
   * @returns {Promise<NetemLink | import('./wasm/worker-host.js').WorkerHost>}
   */
  async netem() {
    if (EDITION === 'tab') return workerHost().ready.then(workerHost);
    const wasm = await this.#rules.load();
    if (!this.#netem.wasm) this.#netem.begin(wasm);
    return this.#netem;
  }

  /** Room: its `name` (null until the server has chosen one), and its `link` for friends. */
  get room() { return this.#connection.room; }

  /** Resume key of the last connection; '' before the first. */
  get resumeKey() { return this.#connection.resumeKey; }

  /** Median of the recent round trips, ms; null before the first. @returns {number | null} */
  get ping() {
    return [...this.#pings].sort((a, b) => a - b)[this.#pings.length >> 1] ?? null;
  }

  /** Estimated number of completed ticks; null before `welcome`. @returns {number | null} */
  get tick() {
    return this.#states?.tick(this.#now()) ?? null;
  }

  /**
   * Adds a handler for the packets of a name. Three further events:
   * - `open`, with `{ welcome, isReconnect, isNewWorld }`, after each `welcome`. `isReconnect`:
   *   after an outage. `isNewWorld`: the world is new to the page, and the state of an earlier
   *   world is invalid.
   * - `close`, with `game.closed`: the connection has ended, or an attempt has failed.
   * - `error`, also for bytes that are not a packet, with the rule `unreadable`.
   * @param {string} name
   * @param {(event: any) => void} handler
   * @returns {() => void} removes the handler
   */
  on(name, handler) {
    return this.#handlers.add(name, handler);
  }

  /**
   * Sends a packet. `sequence`, `tick` and `render_tick` (the render tick, for lag compensation)
   * are filled in if the packet has them.
   * @param {string} name
   * @param {Record<string, any>} [values] values by argument name; nil arguments are optional
   * @returns {boolean} false if the packet was dropped because there is no connection
   * @throws {TypeError | RangeError} naming the packet and argument that do not fit the table
   */
  send(name, values = {}) {
    if (!this.#dialect || this.state !== 'open') return false;
    const lacks = (/** @type {string} */ argument) => values[argument] === undefined && this.#dialect?.hasArgument(name, argument);
    const all = { ...values };
    if (lacks('sequence')) all.sequence = this.#sequence + 1;
    if (lacks('tick')) all.tick = this.#commandTick(performance.now());
    if (lacks('render_tick')) all.render_tick = this.#states?.renderTick(performance.now()) ?? null;
    const bytes = this.#dialect.encode(name, all);
    this.#sequence = all.sequence ?? this.#sequence;
    return this.#write(name, all, bytes);
  }

  /**
   * Joins the game. Called while spectating or after death. After a reconnect, the page joins again
   * with the same values.
   * @param {Record<string, any>} [values] such as `{ name }`; they replace the values of `connect`
   */
  join(values = {}) {
    this.#isSpectating = false;
    Object.assign(this.#player, values);
    // The server counts `join` as a command.
    this.#sequence += 1;
    return this.send('join', this.#dialect?.supportedValues('join', this.#player));
  }

  /**
   * Newest values of a packet. Of an entity list, the state `{ tick, entities }` after the packet.
   * @param {string} name
   * @returns {Record<string, any> | null}
   */
  newest(name) {
    return this.#states?.newest(name) ?? null;
  }

  /**
   * Returns the newest entities of an entity list by id; empty before its first packet.
   * @param {string} name
   * @returns {ReadonlyMap<any, Record<string, any>>}
   */
  entities(name) {
    return this.#entities.byId(name);
  }

  /**
   * Returns the values of a packet about two updates ago, so that movement is smooth. Positions and
   * angles are interpolated between two packets; other values come from the earlier one. Entries of
   * a group list are matched by their first member. Missing updates are extrapolated for a moment.
   * After the next update, the rendered values blend to the received ones. Of an entity list, the
   * `entities` are interpolated.
   * @param {string} name
   * @param {{ fields?: string[], extrapolate?: string[], now?: number }} [how] `fields`: further
   *   numbers to interpolate; `extrapolate`: lists with `x` and `y` that the rules of the option
   *   `predict` extrapolate; `now`: `performance.now()`
   * @returns {Record<string, any> | null} null before the first packet
   */
  interpolated(name, { fields, extrapolate, now = this.#now() } = {}) {
    const packet = this.#entities.statePacket(name) ?? this.#dialect?.clientPackets.get(name);
    const prediction = this.#prediction;
    const extrapolatePosition = prediction?.isActive ? prediction.extrapolate.bind(prediction) : undefined;
    return (packet && this.#states?.interpolate(packet, now, { units: this.#options.units ?? false, fields, extrapolate, extrapolatePosition, features: this.#features })) ?? null;
  }

  /**
   * Returns the predicted local player, after all commands that were sent. Null without the option
   * `predict`, without a living local player, and before the first pong. Called once per frame.
   * @param {number} [now] `performance.now()`
   * @returns {{ tick: number, x: number, y: number, numbers: number[] } | null} position in px, and
   *   further numbers of the game
   */
  predicted(now = performance.now()) {
    const prediction = this.#prediction;
    prediction?.advance(now);
    if (prediction?.isActive) this.history.addCorrection(prediction.figures, now);
    return prediction?.features.prediction ? prediction.predicted : null;
  }

  /** Lead and corrections of the prediction, or `why` there is none; null without `predict`. */
  get prediction() {
    return this.#prediction && { isActive: this.#prediction.isActive, why: this.#prediction.why, ...this.#prediction.figures };
  }

  /** Delay of the rendered state after the newest received state, ms. @returns {number | null} */
  get interpolationDelay() {
    return this.#states?.clock.delayMs ?? null;
  }

  /** Status of the lane for datagrams; null if the server or the browser has no lanes. */
  get lane() {
    return this.#connection.laneStatus;
  }

  /** Turns the lane for datagrams on or off. @param {boolean} isOn */
  useLane(isOn) {
    this.#connection.useLane(isOn);
  }

  /** Features that are on. */
  get features() {
    return { ...this.#features };
  }

  /**
   * Turns prediction, reconciliation, interpolation or dead reckoning (`deadReckoning`) on or off,
   * to demonstrate the effect of each.
   * @param {Partial<Game['features']>} switches
   */
  setFeatures(switches) {
    Object.assign(this.#features, switches);
    this.#prediction?.setFeatures(this.#features);
  }

  /**
   * Status of the world in this page: `isActive` or else `fallbackReason`; numbers of ticks,
   * snapshots, sent checksums and differing ones; the last desync report; received bytes and the
   * bytes of a stream. Null without the option `mode`.
   */
  get lockstep() {
    const one = this.#lockstep;
    return one && { ...one.status(), isActive: one.isActive, fallbackReason: one.fallbackReason, counts: { ...one.counts } };
  }

  /**
   * In lockstep, changes a field of this page's world, to demonstrate a desync report.
   * @param {number} [seed] u32
   */
  corrupt(seed = Math.floor(Math.random() * 2 ** 32)) {
    this.#lockstep?.corrupt(seed);
  }

  /** Leaves the game and does not reconnect. */
  close() {
    this.#connection.close();
  }

  /** Current time, or the page time of a playback, ms. */
  #now() {
    return this.#connection instanceof PlaybackConnection ? this.#connection.now() : performance.now();
  }

  /** Returns the tick for a command that is sent now. @param {number} now */
  #commandTick(now) {
    this.#prediction?.advance(now);
    return this.#prediction?.commandTick ?? this.#states?.commandTick(now) ?? this.tick;
  }

  /** @param {import('./lib/codec.js').Dialect} dialect */
  async #onOpen(dialect) {
    this.#prediction?.forget();
    this.#dialect = dialect;
    this.#sequence = 0;
    const lockstep = dialect.hasArgument('hello', 'mode') ? this.#lockstep : null;
    const { attempt } = this.#connection;
    if (lockstep) await lockstep.begin(this.#options.game ?? GAME, dialect.name, formatTable(dialect.codes, dialect.name));
    // The connection has ended meanwhile.
    if (attempt !== this.#connection.attempt) return;
    this.#isInLockstep = lockstep?.isActive ?? false;
    const mode = (this.#isSpectating ? MODE.watch : MODE.play) | (this.#isInLockstep ? MODE.lockstep : 0);
    const hello = { version: VERSION, mode, resume_tick: this.#resumeTick.tick, ...this.#player };
    this.#write('hello', hello, dialect.encode('hello', dialect.supportedValues('hello', hello)));
  }

  /**
   * @param {string} name @param {Record<string, any>} values
   * @param {Uint8Array<ArrayBuffer>} bytes
   */
  #write(name, values, bytes) {
    this.#connection.sendPacket(name, values, bytes);
    this.#prediction?.onMessage(bytes, 'sent', performance.now());
    this.counts.bytesOut += bytes.length;
    this.counts.messagesOut += 1;
    return true;
  }

  /** @param {Uint8Array} bytes @param {number} now */
  #onBytes(bytes, now) {
    this.#heartbeat.onMessage(now);
    this.counts.bytesIn += bytes.length;
    this.counts.messagesIn += 1;
    const lockstep = this.#lockstep;
    if (!lockstep || !this.#isInLockstep) return this.#receive(bytes, now);
    const { attempt } = this.#connection;
    const { received, toSend } = lockstep.receive(bytes, now);
    for (const message of toSend) this.#connection.send(message);
    for (const message of received) if (attempt === this.#connection.attempt) this.#receive(message, now);
    if (!lockstep.isActive) this.#connection.abandon(lockstep.fallbackReason);
  }

  /**
   * Receives a packet, in the stream or by datagram.
   * @param {Uint8Array} bytes @param {number} now @param {boolean} [isDatagram]
   */
  #receive(bytes, now, isDatagram = false) {
    let packet;
    try {
      packet = this.#dialect?.decode(bytes);
    } catch (error) {
      this.counts.unreadable += 1;
      return this.#handlers.emit('error', { rule: 'unreadable', detail: /** @type {Error} */ (error).message });
    }
    // The world in this page has been resynchronized.
    if (packet?.name === 'welcome' && this.state === 'open') this.#prediction?.forget();
    if (packet && this.#newest.isOvertaken(packet)) return;
    this.#prediction?.onMessage(bytes, isDatagram ? 'datagram' : 'received', now);
    if (!packet) this.counts.unknown += 1;
    else if (this.#connection.onLanePacket(packet.name, packet.values)) return;
    else if (packet.name === 'welcome') this.#onWelcome(packet.values, now);
    else this.#onPacket(packet.name, packet.values, now, isDatagram);
  }

  /** @param {Uint8Array} bytes @param {number} now */
  #onDatagramPacket(bytes, now) {
    this.counts.bytesIn += bytes.length;
    this.#receive(bytes, now, true);
  }

  /** @param {Record<string, any>} welcome @param {number} now */
  #onWelcome(welcome, now) {
    const isReconnect = this.welcome !== null;
    const isNewWorld = !isReconnect || this.state === 'open' || welcome.epoch === undefined || welcome.epoch !== this.welcome?.epoch;
    if (isNewWorld || !this.#states) this.#states = new StateBuffer(welcome);
    this.#states.onPacket('welcome', welcome, now, true);
    if (this.#dialect) this.#entities.begin(this.#dialect, this.#states, welcome, now);
    this.#connection.onWelcome(now, welcome.epoch, this.#resolveConnected);
    this.history.begin();
    this.#newest.begin(this.#dialect);
    if (!this.#isInLockstep) this.#connection.beginLane();
    this.#newestTick = 0;
    [this.state, this.welcome, this.closed, this.#pings] = ['open', welcome, null, []];
    this.#handlers.check(this.#dialect);
    if (!this.#isSpectating && !this.#dialect?.hasArgument('hello', 'mode') && this.#dialect?.serverPackets.has('join')) this.join();
    if (this.#prediction && this.#dialect) this.#startPrediction(this.#prediction, this.#dialect);
    this.#heartbeat.begin(now);
    this.#handlers.emit('welcome', welcome);
    this.#handlers.emit('open', { welcome, isReconnect, isNewWorld });
  }

  /** Reports an unavailable option. @param {string} rule @param {string} detail */
  #warn(rule, detail) {
    console.warn(`tickwire: ${detail}`);
    this.#handlers.emit('error', { rule, detail });
  }

  /** @param {Prediction} prediction @param {import('./lib/codec.js').Dialect} dialect */
  async #startPrediction(prediction, { name, codes }) {
    const why = await prediction.start(name, formatTable(codes, name));
    if (why !== '') this.#warn('prediction_unavailable', why);
  }

  /**
   * @param {string} name @param {Record<string, any>} values @param {number} now
   * @param {boolean} [isDatagram]
   */
  #onPacket(name, values, now, isDatagram = false) {
    const state = this.#entities.apply(name, values);
    this.#states?.onPacket(name, state?.values ?? values, now, name === 'pong', state ?? {});
    if (typeof values.tick === 'number' && values.tick > this.#newestTick && name !== 'pong') {
      this.#newestTick = values.tick;
      this.history.addUpdateGap(now);
    }
    if (name === 'spawned') this.player = values.player;
    else if (name === 'pong') this.#onPong(values.nonce, now, isDatagram);
    else if (name === 'error') this.#onRejected(values.rule);
    this.#resumeTick.onPacket(name, values, this.player !== null, () => this.#states?.clock.tickReceivedAt(now) ?? 0);
    this.#handlers.emit(name, values);
    if (name !== 'command_rejected') return;
    for (const { sequence, reason } of values.commands) {
      this.#onRejected(reason);
      this.#handlers.emit('error', { rule: reason, detail: `command ${sequence} was rejected` });
    }
  }

  /**
   * Skips a sequence number that another sender has used, such as the inspector.
   * @param {string} rule
   */
  #onRejected(rule) {
    if (rule === 'repeated') this.#sequence += 1;
  }

  /** @param {number} nonce */
  #ping(nonce) {
    if (this.state !== 'open' || !this.#dialect?.hasArgument('ping', 'nonce')) return false;
    return this.#write('ping', { nonce }, this.#dialect.encode('ping', { nonce }));
  }

  /** @param {number} nonce @param {number} now @param {boolean} isDatagram */
  #onPong(nonce, now, isDatagram) {
    const trip = this.#heartbeat.onPong(nonce, now, isDatagram);
    if (trip === null) return;
    this.#pings = [...this.#pings, trip].slice(-PINGS);
    this.history.addRoundTrip(trip, now);
    if (this.#states) this.#states.clock.pingMs = this.ping;
  }

  /** @param {import('./lib/connection.js').CloseInfo} closed */
  #onClose(closed) {
    if (NO_LOCKSTEP.includes(closed.reason)) this.#lockstep?.fallBackToStream(closed.text);
    [this.closed, this.player, this.#pings] = [closed, null, []];
    this.state = closed.retryMs === null ? 'closed' : 'reconnecting';
    this.#heartbeat.end();
    if (this.state === 'closed') this.#rejectConnected(closed);
    this.#handlers.emit('close', closed);
  }
}
