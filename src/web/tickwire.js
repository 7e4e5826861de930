/**
 * A game's page talks to its server through this module: it connects and reconnects, sends and
 * receives packets by name, measures the ping, and gives smooth positions between two states. It
 * takes the packets of the game from the server's own table, `codes.json`.
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
 * Only these packets are built in, and a dialect may lack most of them: `hello`, `enter` and `ping`
 * to the server, `welcome`, `spawned`, `pong` and `error` to the client.
 *
 * @module tickwire
 */

import { wrongMode } from './lib/address.js';
import { formatTable } from './lib/codec.js';
import { EDITION, GAME } from './wasm/edition.js';
import { Heartbeat } from './lib/heartbeat.js';
import { NetHistory } from './lib/net-history.js';
import { NetemLink } from './lib/netem.js';
import { ReconnectingConnection } from './lib/connection.js';
import { LOCKSTEP, NO_LOCKSTEP, Lockstep } from './lib/lockstep.js';
import { Prediction } from './lib/prediction.js';
import { ResumeTick } from './lib/resume-tick.js';
import { StateBuffer } from './lib/state-buffer.js';
import { netemOf, workerHost } from './wasm/worker-host.js';
import { compile, wasmModule } from './wasm/module.js';
import { PlaybackConnection } from './playback/connection.js';
import { captureFromQuery } from './lib/room.js';

export { HeldKeys, HeldPointers } from './lib/held.js';
export { local } from './lib/stored.js';
export { newPrivateRoomUrl } from './lib/private-room.js';

/** The protocol's version, sent in `hello`. */
const VERSION = 1;
/** Modes of `hello`. */
const [SPECTATE, PLAY] = [0, 1];
/** Pings whose median is `game.ping`. */
const PINGS = 5;
/** Names for `on` that are no packets. */
const EVENTS = ['open', 'close', 'error'];

/**
 * @typedef {object} Options
 * @property {string} [name] the player's name
 * @property {boolean} [spectate] true to look on, until `game.enter()`
 * @property {Record<string, any>} [hello] further arguments of `hello` and `enter`, such as a colour
 * @property {boolean} [units] true for places in pixels and angles in radians, in both directions;
 *   otherwise each number is the one that is sent, such as 16,384 for a quarter of a turn
 * @property {string} [dialect] default: the first one that has both `hello` and `welcome`
 * @property {string} [path] of the endpoint, relative to this module; default: `play`
 * @property {import('./lib/codec.js').Codes | string} [codes] the packet tables, or where they are;
 *   default: `codes.json` beside the endpoint, fetched for each connection
 * @property {string} [predict] the name of the game, to run the player's own part of it ahead of the server: `game.predicted`.
 *   The server must have its rules as `prediction.wasm`
 * @property {'stream' | 'lockstep'} [mode] `lockstep`: the page runs the room's world itself and is only sent the commands of each tick, `game.lockstep`;
 *   where that cannot be had, it follows as a stream as usual. `tickwire.wasm` must have the game's rules
 * @property {string} [game] the name of the game, for `mode`; default: that of `predict`
 * @property {string} [net] a simulated line between the page and its server: `wifi`, or `delay=150ms,loss=2%`; '' for one that is perfect until `game.netem()`
 *   changes it; default: that of the page's address, `?net=wifi`, or none
 * @property {Record<string, (event: any) => void>} [on] handlers, as for `game.on`: they also hear
 *   what happens before the first `welcome`
 * @property {string} [token] where only holders of a token play; default: that of the page's link, `#token=…`
 * @property {new (url: URL, protocols: string[]) => any} [WebSocket] for Node before 22
 */

/**
 * Connects to the server of this module, and greets it.
 *
 * @param {Options} [options]
 * @returns {Promise<Game>} fulfilled when the server has said `welcome`; it waits while the server
 *   cannot be reached
 * @throws {Error} when the server has no packet tables or not this dialect, or turns the page away
 */
export function connect(options = {}) {
  return new Promise((fulfil, reject) => {
    const game = new Game(options, () => fulfil(game), ({ text }) => reject(new Error(text)));
  });
}

/** A game that the page is connected to, made by `connect`. */
export class Game {
  /** @type {Map<string, Set<(event: any) => void>>} */
  #handlers = new Map();
  /** @type {import('./lib/codec.js').Dialect | null} */
  #dialect = null;
  /** @type {StateBuffer | null} */
  #states = null;
  #connection;
  #options;
  /** Arguments of `hello` and `enter`. @type {Record<string, any>} */
  #player;
  #isSpectating;
  #sequence = 0;
  #resumeTick = new ResumeTick();
  #heartbeat = new Heartbeat((nonce) => this.#ping(nonce), () => this.#connection.abandon());
  /** @type {number[]} */
  #pings = [];
  /** @type {Prediction | null} */
  #prediction = null;
  /** The file with the rules and the model of a line. */
  #rules = new Prediction(() => compile(new URL('wasm/prediction.wasm', import.meta.url)));
  #netem = new NetemLink();
  /** As last reported. */
  #whyNoPrediction = '';
  #features = { prediction: true, reconciliation: true, interpolation: true, deadReckoning: true };
  /** @type {Lockstep | null} */
  #lockstep = null;
  /** Whether this connection has asked for it. */
  #isInLockstep = false;
  /** Newest tick that the server has received of by itself. */
  #newestTick = 0;
  #resolveConnected;
  #rejectConnected;

  /** @param {Options} options @param {() => void} begun @param {(closed: import('./lib/connection.js').CloseInfo) => void} failed */
  constructor(options, begun, failed) {
    this.#options = options;
    this.#player = { name: options.name, ...options.hello };
    this.#isSpectating = options.spectate ?? false;
    this.#resolveConnected = begun;
    this.#rejectConnected = failed;
    /** `reconnecting` while it tries to come back, `closed` for good. @type {'connecting' | 'open' | 'reconnecting' | 'closed'} */
    this.state = 'connecting';
    /** How the server has identified the game: seed, rates, epoch. @type {Record<string, any> | null} */
    this.welcome = null;
    /** The player's own number; null without one. @type {number | null} */
    this.player = null;
    /** Why there is no connection now; null while there is one. @type {import('./lib/connection.js').CloseInfo | null} */
    this.closed = null;
    /** Since the page was opened. `unknown`: packets that the tables lack; `unreadable`: bytes that are no packet. */
    this.counts = { messagesIn: 0, messagesOut: 0, bytesIn: 0, bytesOut: 0, unknown: 0, unreadable: 0 };
    // A capture in the address is watched in place of a server.
    const asked = globalThis.location ? captureFromQuery(location.search) : null;
    const isGame = asked === null;
    /** Round trips, gaps, leads and corrections of the last seconds, for a graph. */
    this.history = new NetHistory();
    if (isGame && options.predict !== undefined) this.#prediction = this.#rules;
    if (isGame && options.mode === 'lockstep') this.#lockstep = new Lockstep(wasmModule);
    for (const [name, handler] of Object.entries(options.on ?? {})) this.on(name, handler);
    const listener = {
      onOpen: (/** @type {import('./lib/codec.js').Dialect} */ dialect) => this.#onOpen(dialect),
      onMessage: (/** @type {Uint8Array} */ bytes, now = performance.now()) => this.#onBytes(bytes, now),
      onClose: (/** @type {import('./lib/connection.js').CloseInfo} */ closed) => this.#onClose(closed),
      onPageReturn: () => this.#heartbeat.probe(performance.now()),
    };
    this.#connection = isGame ? new ReconnectingConnection(options, listener) : new PlaybackConnection(asked, options.game ?? options.predict ?? GAME, options, listener);
    this.#start(isGame ? options.net ?? netemOf(globalThis.location?.search ?? '') : '');
  }

  /** Opens the connection, behind a simulated line if one is asked for. The server of a tab has its own. @param {string} net */
  async #start(net) {
    if (this.#connection instanceof ReconnectingConnection && EDITION !== 'tab' && (net !== '' || this.#options.net !== undefined)) {
      this.#connection.wrapSocket = (socket) => this.#netem.wrapSocket(socket);
      if (net !== '') await this.netem().then((line) => line.setNetem(net)).then(({ error }) => error, ({ message }) => message).then((why) => {
        if (why !== undefined) this.#warn('network_unavailable', `net=${net}: ${why}. No network is simulated`);
      });
    }
    const wrong = wrongMode(this.#options.mode);
    if (wrong !== '') this.#warn('mode_unknown', wrong);
    if (this.state !== 'closed') this.#connection.open();
  }

  /**
   * The simulated line between the page and its server, with the option `net`: its `presets`, what holds (`net`), and `setNetem(text)`, which changes it.
   * @returns {Promise<NetemLink | import('./wasm/worker-host.js').WorkerHost>}
   */
  async netem() {
    if (EDITION === 'tab') return workerHost().ready.then(workerHost);
    const wasm = await this.#rules.load();
    if (!this.#netem.wasm) this.#netem.begin(wasm);
    return this.#netem;
  }

  /** Round trip in ms, the median of the last ones; null before the first. @returns {number | null} */
  get ping() {
    return [...this.#pings].sort((a, b) => a - b)[this.#pings.length >> 1] ?? null;
  }

  /** Ticks that the server has completed by now, as far as the page can know; null before `welcome`. @returns {number | null} */
  get tick() {
    return this.#states?.tick(this.#now()) ?? null;
  }

  /**
   * Calls a function for each packet of a name, with its values by argument name. Also:
   * - `open`, with `{ welcome, isReconnect, isNewWorld }`: the server has said `welcome`. `isReconnect`: after an
   *   outage. `isNewWorld`: it is not the game of before, so what the page remembers of that is void.
   * - `close`, with `game.closed`: the connection has ended, or a try has failed.
   * - `error`, also for bytes that are no packet: the rule is then `unreadable`.
   *
   * @param {string} name @param {(event: any) => void} handler
   * @returns {() => void} takes the handler away again
   */
  on(name, handler) {
    const handlers = this.#handlers.get(name) ?? new Set();
    this.#handlers.set(name, handlers.add(handler));
    this.#checkHandlerName(name);
    return () => { handlers.delete(handler); };
  }

  /**
   * Sends a packet. `sequence`, `tick` and `seen` (the tick that `interpolated` shows: for lag compensation) are filled in if the packet has them.
   *
   * @param {string} name @param {Record<string, any>} [values] by argument name; one that may be nil may be left out
   * @returns {boolean} false without a connection: the packet is dropped, since it would mean nothing later
   * @throws {TypeError | RangeError} naming packet and argument, if the tables do not have them so
   */
  send(name, values = {}) {
    if (!this.#dialect || this.state !== 'open') return false;
    const lacks = (/** @type {string} */ argument) => values[argument] === undefined && this.#dialect?.hasArgument(name, argument);
    const all = { ...values };
    if (lacks('sequence')) all.sequence = this.#sequence + 1;
    if (lacks('tick')) all.tick = this.#commandTick(performance.now());
    if (lacks('seen')) all.seen = this.#states?.renderTick(performance.now()) ?? null;
    const bytes = this.#dialect.encode(name, all);
    this.#sequence = all.sequence ?? this.#sequence;
    return this.#write(bytes);
  }

  /**
   * Begins to play, as a watcher or after death. Later connections begin in the same way.
   * @param {Record<string, any>} [values] such as `{ name }`, in place of those of `connect`
   */
  enter(values = {}) {
    this.#isSpectating = false;
    Object.assign(this.#player, values);
    // The server counts it as a command.
    this.#sequence += 1;
    return this.send('enter', this.#supportedValues('enter', this.#player));
  }

  /** The newest values of a packet; null before the first. @param {string} name @returns {Record<string, any> | null} */
  newest(name) {
    return this.#states?.newest(name) ?? null;
  }

  /**
   * Values of a packet as they were about two updates ago, so that things move evenly however the
   * packets come: places and angles (numbers with such a unit) lie between those of two packets,
   * everything else is that of the earlier one. Entries of a group list belong together if their
   * first members are equal.
   *
   * @param {string} name
   * Without news, things go on as they moved, for a moment; then what is shown glides to the news.
   *
   * @param {{ fields?: string[], extrapolate?: string[], now?: number }} [how] `fields`: names of further numbers that move evenly; `extrapolate`: lists of those who
   *   have `x` and `y`, and go on by the rules of the game of the option `predict`; `now`: `performance.now()`
   * @returns {Record<string, any> | null} null before the first packet
   */
  interpolated(name, { fields, extrapolate, now = this.#now() } = {}) {
    const packet = this.#dialect?.clientPackets.get(name);
    const prediction = this.#prediction;
    const extrapolatePosition = prediction?.isActive ? prediction.extrapolate.bind(prediction) : undefined;
    return (packet && this.#states?.interpolate(packet, now, { units: this.#options.units ?? false, fields, extrapolate, extrapolatePosition, features: this.#features })) ?? null;
  }

  /**
   * The player's own part of the game as it is after the commands that were sent, ahead of the server; null without the option `predict`, without a
   * body, and until the line is measured. Call it once a frame.
   * @param {number} [now] `performance.now()`
   * @returns {{ tick: number, x: number, y: number, numbers: number[] } | null} the place in px, and what else the game shows
   */
  predicted(now = performance.now()) {
    const prediction = this.#prediction;
    prediction?.advance(now);
    if (prediction?.isActive) this.history.addCorrection(prediction.figures, now);
    return prediction?.features.prediction ? prediction.predicted : null;
  }

  /** How far `predicted` is ahead of the newest update, what the server has corrected, and `why` there is no prediction; null without the option `predict`. */
  get prediction() {
    return this.#prediction && { isActive: this.#prediction.isActive, why: this.#prediction.why, ...this.#prediction.figures };
  }

  /** How far behind the newest state `interpolated` shows, ms; null before `welcome`. @returns {number | null} */
  get interpolationDelay() {
    return this.#states?.clock.delayMs ?? null;
  }

  /** What `setFeatures` has turned off. */
  get features() {
    return { ...this.#features };
  }

  /** Turns prediction, reconciliation, interpolation or dead reckoning (`deadReckoning`) off or on, to show what each does. @param {Partial<Game['features']>} switches */
  setFeatures(switches) {
    Object.assign(this.#features, switches);
    this.#prediction?.setFeatures(this.#features);
  }

  /**
   * The world that this page runs: whether it `isActive`, and if not `fallbackReason`, in a sentence; ticks, snapshots, checksums sent and how many of them differed, the
   * server's last report, bytes received and those of a stream. Null without the option `mode`.
   */
  get lockstep() {
    const one = this.#lockstep;
    return one && { ...one.status(), isActive: one.isActive, fallbackReason: one.fallbackReason, counts: { ...one.counts } };
  }

  /** In lockstep, changes a field of the own world at the next checksum, to see what the server does about it. @param {number} [seed] chooses the field */
  corrupt(seed = Math.floor(Math.random() * 2 ** 32)) {
    this.#lockstep?.corrupt(seed);
  }

  /** Leaves the game for good. */
  close() {
    this.#connection.close();
  }

  /** The page's time, ms; of a capture, that of the recording. */
  #now() {
    return this.#connection instanceof PlaybackConnection ? this.#connection.now() : performance.now();
  }

  /** The tick that a command sent now is for. @param {number} now */
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
    if (lockstep) await lockstep.begin(this.#options.game ?? this.#options.predict ?? GAME, dialect.name, formatTable(dialect.codes, dialect.name));
    // The connection has ended meanwhile.
    if (attempt !== this.#connection.attempt) return;
    this.#isInLockstep = lockstep?.isActive ?? false;
    const mode = (this.#isSpectating ? SPECTATE : PLAY) | (this.#isInLockstep ? LOCKSTEP : 0);
    const hello = { version: VERSION, mode, since: this.#resumeTick.tick, ...this.#player };
    this.#write(dialect.encode('hello', this.#supportedValues('hello', hello)));
  }

  /** Those of some values that a packet has. @param {string} packet @param {Record<string, any>} values */
  #supportedValues(packet, values) {
    return Object.fromEntries(Object.entries(values).filter(([name]) => this.#dialect?.hasArgument(packet, name)));
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  #write(bytes) {
    this.#connection.send(bytes);
    this.#prediction?.onMessage(bytes, false, performance.now());
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

  /** A message of the server, or what it would have said. @param {Uint8Array} bytes @param {number} now */
  #receive(bytes, now) {
    let packet;
    try {
      packet = this.#dialect?.decode(bytes);
    } catch (error) {
      this.counts.unreadable += 1;
      return this.#emit('error', { rule: 'unreadable', detail: /** @type {Error} */ (error).message });
    }
    // The world of this page has begun again.
    if (packet?.name === 'welcome' && this.state === 'open') this.#prediction?.forget();
    this.#prediction?.onMessage(bytes, true, now);
    if (!packet) this.counts.unknown += 1;
    else if (packet.name === 'welcome') this.#onWelcome(packet.values, now);
    else this.#onPacket(packet.name, packet.values, now);
  }

  /** @param {Record<string, any>} welcome @param {number} now */
  #onWelcome(welcome, now) {
    const isReconnect = this.welcome !== null;
    const isNewWorld = !isReconnect || this.state === 'open' || welcome.epoch === undefined || welcome.epoch !== this.welcome?.epoch;
    if (isNewWorld || !this.#states) this.#states = new StateBuffer(welcome);
    this.#states.onPacket('welcome', welcome, now, true);
    this.#connection.onWelcome(now);
    this.history.begin();
    this.#newestTick = 0;
    [this.state, this.welcome, this.closed, this.#pings] = ['open', welcome, null, []];
    for (const name of this.#handlers.keys()) this.#checkHandlerName(name);
    if (!this.#isSpectating && !this.#dialect?.hasArgument('hello', 'mode') && this.#dialect?.serverPackets.has('enter')) this.enter();
    if (this.#prediction && this.#dialect) this.#startPrediction(this.#prediction, this.#dialect);
    this.#heartbeat.begin(now);
    this.#resolveConnected();
    this.#emit('welcome', welcome);
    this.#emit('open', { welcome, isReconnect, isNewWorld });
  }

  /** Something that the page asks for cannot be had; the game goes on without it. @param {string} rule @param {string} detail */
  #warn(rule, detail) {
    console.warn(`tickwire: ${detail}`);
    this.#emit('error', { rule, detail });
  }

  /** Without prediction one plays as well, and sees oneself later. @param {Prediction} prediction @param {import('./lib/codec.js').Dialect} dialect */
  async #startPrediction(prediction, { name, codes }) {
    try {
      await prediction.begin(this.#options.predict ?? '', name, formatTable(codes, name));
    } catch (error) {
      prediction.fail(error);
    }
    if (prediction.why === '' || prediction.why === this.#whyNoPrediction) return;
    this.#whyNoPrediction = prediction.why;
    this.#warn('prediction_unavailable', prediction.why);
  }

  /** @param {string} name @param {Record<string, any>} values @param {number} now */
  #onPacket(name, values, now) {
    this.#states?.onPacket(name, values, now, name === 'pong');
    if (typeof values.tick === 'number' && values.tick > this.#newestTick && name !== 'pong') {
      this.#newestTick = values.tick;
      this.history.addUpdateGap(now);
    }
    if (name === 'spawned') this.player = values.player;
    else if (name === 'pong') this.#onPong(values.nonce, now);
    else if (name === 'error') this.#onRejected(values.rule);
    this.#resumeTick.onPacket(name, values, this.player !== null, () => this.#states?.clock.tickReceivedAt(now) ?? 0);
    this.#emit(name, values);
    if (name !== 'command_rejected') return;
    for (const { sequence, reason } of values.commands) {
      this.#onRejected(reason);
      this.#emit('error', { rule: reason, detail: `command ${sequence} was rejected` });
    }
  }

  /** Somebody else has sent a command for this client, such as the inspector. @param {string} rule */
  #onRejected(rule) {
    if (rule === 'repeated') this.#sequence += 1;
  }

  /** @param {number} nonce */
  #ping(nonce) {
    if (this.state !== 'open' || !this.#dialect?.hasArgument('ping', 'nonce')) return false;
    return this.#write(this.#dialect.encode('ping', { nonce }));
  }

  /** @param {number} nonce @param {number} now */
  #onPong(nonce, now) {
    const trip = this.#heartbeat.onPong(nonce, now);
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
    this.#emit('close', closed);
  }

  /** A name that is neither a packet nor an event is a slip of the pen. @param {string} name */
  #checkHandlerName(name) {
    if (!this.#dialect || EVENTS.includes(name) || this.#dialect.clientPackets.has(name)) return;
    console.warn(`game.on: the dialect ${this.#dialect.name} has no packet ${name} to the client`);
  }

  /** @param {string} name @param {any} event */
  #emit(name, event) {
    for (const handler of this.#handlers.get(name) ?? []) {
      try {
        handler(event);
      } catch (error) {
        // Reported as any error of the page; the other handlers and the connection go on.
        queueMicrotask(() => { throw error; });
      }
    }
  }
}
