/**
 * Playback of a capture: `tickwire.wasm` runs the recorded world and produces the packets that a
 * server would send. The page draws them as in a game. The page time runs at the playback speed and
 * stops in a pause.
 *
 * ```text
 *  file ─► tickwire.wasm ─┬─ index: each tick once, verified, in slices
 *                         └─ seek, play ─► messages ─► page
 * ```
 *
 * @module playback/playback
 */

import { parseRecords } from '../lib/lockstep.js';
import { WasmInstance } from '../wasm/instance.js';

/** Playback speeds in the menu. */
export const PLAYBACK_SPEEDS = Object.freeze([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]);
/** Maximum speed at which the page receives each tick separately. */
const EACH_TICK_SPEED = 4;
/** Time limits of a slice of work, ms: for a seek, for the index, for reading the file. */
const [SEEK_MS, INDEX_MS, READ_MS] = [24, 7, 12];
/**
 * Maximum time by which a frame advances the playback, ms. A hidden page therefore continues where
 * it stopped.
 */
const FRAME_MS = 250;
/** Maximum bytes of the file that one call reads. */
const PIECE_BYTES = 1 << 20;
/** Jump of the page time at a seek, ms. It ends all running effects and speech bubbles. */
const SEEK_TIME_JUMP_MS = 30_000;
/** Interval at which the page is notified of progress, ms. */
const NOTIFY_INTERVAL_MS = 100;

/**
 * @typedef {object} Status
 * @property {number | null} tick completed ticks at the playback position
 * @property {number} first completed ticks at the start of the recording
 * @property {number} last completed ticks at the end of the data read so far
 * @property {number} tick_hz
 * @property {string | null} ended reason why later ticks cannot be played
 * @property {number} indexed tick up to which the checksums were verified
 * @property {{ tick: number, recorded: string, replayed: string } | null} differs first differing
 *   checksum
 * @property {number} snapshots
 * @property {number} snapshot_bytes
 * @property {number} begin_ms start of the file, ms since 1970
 * @property {[tick: number, kind: 'joined' | 'left' | 'away' | 'back' | 'killed', name: string,
 *   killer: string][]} marks
 */

/**
 * @typedef {{ name: string, why?: string, game?: string, tick_hz?: number, first?: number, last?:
 *   number }} CaptureRoom
 */
/**
 * @typedef {{ own_game: string | null, bytes: number, end: null | { whole?: true, cut_at?: number,
 *   why?: string }, why: string | null, rooms: CaptureRoom[] }} CaptureFile
 */

/**
 * Callbacks of the page.
 * @typedef {{ onMessage: (message: Uint8Array, nowMs: number) => void, onChange: () => void,
 *   onSeekDone: () => void }} PlaybackPage
 */

/**
 * The room to play. `game` is '' on the page of a program with one game of its own.
 * @typedef {{ game: string, dialect: string, table: string, room: string, tick: number | null }}
 *   PlaybackRequest
 */

const pause = () => new Promise((done) => { setTimeout(done); });

/** Playback of a capture. */
export class Playback {
  /**
   * @param {() => Promise<WebAssembly.Module>} load loads `tickwire.wasm`
   * @param {PlaybackPage} page
   */
  constructor(load, page) {
    this.load = load;
    this.page = page;
    /** @type {WasmInstance | null} */
    this.wasm = null;
    /** Number of the shown file. Results of earlier files are dropped. */
    this.run = 0;
    /** Reason why nothing can be played, as a sentence; '' otherwise. */
    this.why = '';
    /** @type {CaptureFile | null} */
    this.file = null;
    /** @type {Status | null} */
    this.status = null;
    /** All markers read so far. @type {Status['marks']} */
    this.marks = [];
    /** The room that is played; null before it is opened. @type {string | null} */
    this.room = null;
    this.playing = false;
    this.speed = 1;
    /** Completed ticks at the playback position; 0 before the first. */
    this.tick = 0;
    /** Target of the running seek; null if no seek is running. @type {number | null} */
    this.seeking = null;
    /**
     * Target of a seek past the data read so far; null if no such seek is waiting.
     * @type {number | null}
     */
    this.wanted = null;
    /** Whether the game has a packet to spectate a player. */
    this.canFollow = false;
    /** Spectated player; null for the leader. @type {number | null} */
    this.followed = null;
    /** Page time, ms. */
    this.ms = 0;
    /** Real time of the last frame, ms. */
    this.frameMs = 0;
    /** Fraction of a tick that has passed since the last completed tick. */
    this.part = 0;
    this.isWorking = false;
    /** Number of ticks in a slice of work, adapted to the time limit. */
    this.slice = 8;
    this.notifiedMs = 0;
    /** `first`: duration until the first picture, ms. `seek`: duration of the last seek, ms. */
    this.times = { first: 0, seek: 0 };
    this.askedMs = 0;
  }

  get tickMs() {
    return 1000 / (this.status?.tick_hz ?? 30);
  }

  /** Whether the whole file has been read. */
  get isWhole() {
    return this.file?.end !== null && this.file !== null;
  }

  /**
   * Reads a file and opens its room as soon as possible.
   * @param {() => Promise<ReadableStream<Uint8Array>>} open opens the file
   * @param {PlaybackRequest} request
   */
  async read(open, request) {
    const run = this.begin();
    try {
      const module = await this.load();
      const stream = await open();
      // Each file has its own instance, so that its memory is freed.
      const wasm = new WasmInstance(await WebAssembly.instantiate(module, {}));
      wasm.wasm.main?.(0, 0);
      wasm.wasm.playback_start();
      if (run !== this.run) return;
      this.wasm = wasm;
      const reader = stream.getReader();
      let sliceMs = performance.now();
      for (let more = await reader.read(); !more.done && run === this.run; more = await reader.read()) {
        for (let at = 0; at < more.value.length; at += PIECE_BYTES) {
          wasm.setInput(more.value.subarray(at, at + PIECE_BYTES));
          wasm.wasm.playback_feed();
          if (this.room === null) this.openRoomWhenReady(request);
          if (performance.now() - sliceMs < READ_MS) continue;
          this.refreshStatus();
          await pause();
          sliceMs = performance.now();
          if (run !== this.run) break;
        }
      }
      if (run !== this.run) return void reader.cancel();
      wasm.wasm.watch_finish();
      this.openRoomWhenReady(request);
    } catch (error) {
      if (run === this.run) this.fail(/** @type {Error} */ (error).message);
    }
  }

  begin() {
    this.run += 1;
    Object.assign(this, { wasm: null, why: '', file: null, status: null, marks: [], room: null, playing: false, tick: 0, seeking: null, wanted: null, followed: null });
    this.askedMs = performance.now();
    this.times.first = 0;
    this.page.onChange();
    return this.run;
  }

  /** @param {string} why */
  fail(why) {
    this.why = /[.!?]$/.test(why) ? why : `${why}.`;
    this.why = this.why[0].toUpperCase() + this.why.slice(1);
    this.playing = false;
    this.page.onChange();
  }

  /** Opens the requested room once its first tick has been read. @param {PlaybackRequest} wish */
  openRoomWhenReady({ game, dialect, table, room, tick }) {
    const { wasm } = this;
    if (!wasm) return;
    this.file = /** @type {CaptureFile} */ (wasm.json(wasm.wasm.watch_file()));
    if (this.room !== null) return this.refreshStatus(true);
    const { rooms, end } = this.file;
    const wanted = game || this.file.own_game;
    const ready = rooms.filter((one) => one.game === wanted);
    // Selects the requested room. If the file lacks it, selects another room of the game.
    const one = ready.find(({ name }) => name === room) ?? (end ? ready[0] : undefined);
    if (one) {
      wasm.setInputText(`${one.name}\n${dialect}\n${table}`);
      wasm.json(wasm.wasm.watch_open());
      this.room = one.name;
      this.canFollow = table.includes('\tspectating\t');
      // A link to a tick opens paused.
      this.playing = tick === null;
      this.refreshStatus(true);
      this.seek(0);
      if (tick !== null) this.seek(tick);
      return;
    }
    if (!end) return;
    const other = rooms.find((known) => known.game !== undefined);
    this.fail(this.file.why ?? (other ? `this capture is of the game ${other.game}, and this is the page of ${wanted}` : 'this capture has no room'));
  }

  /** Plays another room of the file. @param {string} name @param {PlaybackRequest} request */
  selectRoom(name, request) {
    this.room = null;
    this.marks = [];
    this.followed = null;
    this.tryCall(() => this.openRoomWhenReady({ ...request, room: name }));
  }

  /**
   * Refreshes the status of the room.
   * @param {boolean} [now] whether to ignore the notification interval
   */
  refreshStatus(now = false) {
    const { wasm } = this;
    const at = performance.now();
    if (!wasm || this.room === null || (!now && at - this.notifiedMs < NOTIFY_INTERVAL_MS)) return;
    this.notifiedMs = at;
    this.status = /** @type {Status} */ (wasm.json(wasm.wasm.watch_status(this.marks.length)));
    this.marks.push(...this.status.marks);
    this.page.onChange();
    if (this.wanted !== null && (this.isWhole || this.wanted <= this.status.last)) this.seek(this.wanted);
    if (this.status.indexed < this.status.last) this.work();
  }

  /** Seeks to the world after `tick` completed ticks. @param {number} tick */
  seek(tick) {
    const { wasm } = this;
    if (!wasm || this.room === null) return;
    if (this.times.first > 0) this.askedMs = performance.now();
    this.wanted = null;
    if (!this.isWhole && this.status && tick > this.status.last) {
      this.wanted = Math.round(tick);
      return;
    }
    this.seeking = Math.round(tick);
    wasm.wasm.watch_seek(Math.max(0, this.seeking));
    this.work();
  }

  /**
   * Runs a call of the world. If it throws, the memory of the instance is not reliable any more, so
   * the playback ends with an error.
   * @template T
   * @param {() => T} act
   * @returns {T | undefined}
   */
  tryCall(act) {
    try {
      return act();
    } catch (error) {
      this.run += 1;
      Object.assign(this, { wasm: null, isWorking: false, seeking: null, wanted: null });
      this.fail(`the recording cannot be run any further: ${/** @type {Error} */ (error).message}`);
      return undefined;
    }
  }

  /** Works in slices until the world is idle. */
  work() {
    if (this.isWorking) return;
    this.isWorking = true;
    const { run } = this;
    const slice = () => this.tryCall(work);
    const work = () => {
      this.isWorking = false;
      const { wasm } = this;
      if (run !== this.run || !wasm) return;
      const begin = performance.now();
      const wasSeeking = this.seeking !== null;
      const out = wasm.outputBytes(wasm.wasm.watch_work(Math.round(this.slice))).slice();
      const took = Math.max(performance.now() - begin, 0.25);
      const limitMs = wasSeeking ? SEEK_MS : INDEX_MS;
      this.slice = Math.min(Math.max(this.slice * Math.min(Math.max(limitMs / took, 0.25), 2), 4), 20_000);
      if (out.length > 1) this.onSeekDone(out.subarray(1));
      this.isWorking = out[0] === 1;
      this.refreshStatus(!this.isWorking);
      if (this.isWorking) setTimeout(slice);
    };
    setTimeout(slice);
  }

  /**
   * Handles the end of a seek: the page receives the world at that tick.
   * @param {Uint8Array} out
   */
  onSeekDone(out) {
    this.ms += SEEK_TIME_JUMP_MS;
    this.part = 0;
    const { received } = parseRecords(out);
    received.forEach((message, at) => this.page.onMessage(message, at === 0 ? this.ms - this.tickMs : this.ms));
    this.seeking = null;
    this.tick = this.wasm?.wasm.watch_tick() ?? 0;
    const took = performance.now() - this.askedMs;
    if (this.times.first === 0) this.times.first = took;
    else this.times.seek = took;
    this.refreshStatus(true);
    this.page.onSeekDone();
  }

  /**
   * Advances the playback to this frame and plays the due ticks. Returns the page time, ms. Called
   * once per frame.
   * @param {number} nowMs real time, ms
   */
  advance(nowMs) {
    const elapsed = Math.min(FRAME_MS, Math.max(0, nowMs - this.frameMs));
    this.frameMs = nowMs;
    const { status } = this;
    if (!this.playing || !status || this.seeking !== null || this.tick === 0) return this.ms;
    // At the end of the data read so far the playback waits for more.
    const left = status.last - this.tick;
    if (left <= 0) {
      if (this.isWhole) this.toggle(false);
      return this.ms;
    }
    this.ms += elapsed * this.speed;
    this.part += (elapsed * this.speed) / this.tickMs;
    const due = Math.min(Math.floor(this.part), left);
    this.part = due === left ? 0 : this.part - due;
    const at = this.speed <= EACH_TICK_SPEED ? 1 : due;
    for (let done = 0; done < due; done += at) {
      this.tick += at;
      this.play(at, this.ms - (due - done - at + this.part) * this.tickMs);
    }
    return this.ms;
  }

  /** Plays ticks. @param {number} ticks @param {number} nowMs page time at the last of them, ms */
  play(ticks, nowMs) {
    const { wasm } = this;
    if (!wasm) return;
    const received = this.tryCall(() => parseRecords(wasm.outputBytes(wasm.wasm.watch_play(ticks)).slice()).received) ?? [];
    for (const message of received) this.page.onMessage(message, nowMs);
    this.tick = this.wasm?.wasm.watch_tick() ?? this.tick;
  }

  /** Plays or pauses. @param {boolean} [plays] */
  toggle(plays = !this.playing) {
    const { status } = this;
    if (!status) return;
    this.playing = plays;
    // At the end, playing restarts the recording.
    if (plays && this.isWhole && this.tick >= status.last) this.seek(status.first);
    this.page.onChange();
  }

  /** Steps by one tick. @param {number} by 1 or -1 */
  step(by) {
    const { status } = this;
    if (!status) return;
    this.toggle(false);
    if (by !== 1 || this.seeking !== null) return this.seek((this.seeking ?? this.tick) + by);
    if (this.tick >= status.last) return;
    this.ms += this.tickMs;
    this.play(1, this.ms);
    this.refreshStatus(true);
    this.page.onSeekDone();
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    this.page.onChange();
  }

  /** Spectates a player, or the leader if null. @param {number | null} player */
  follow(player) {
    this.followed = player;
    this.wasm?.wasm.watch_follow(player ?? 0);
    // In a pause a seek shows the player at once.
    if (!this.playing && this.tick > 0) this.seek(this.tick);
    this.page.onChange();
  }

  /** Returns the numbers and names of the players at this tick. @returns {[number, string][]} */
  players() {
    const { wasm } = this;
    return wasm && this.room !== null ? wasm.json(wasm.wasm.watch_players()).players : [];
  }

  /**
   * Returns the checksum of the world and the recorded one; null if none was recorded.
   * @returns {[string, string | null]}
   */
  checksums() {
    const { wasm } = this;
    const hex = (/** @type {bigint} */ number) => BigInt.asUintN(64, number).toString(16).padStart(16, '0');
    if (!wasm) return ['', null];
    const recorded = wasm.wasm.watch_recorded(this.tick);
    return [hex(wasm.wasm.watch_checksum()), recorded === 0n ? null : hex(recorded)];
  }

  /**
   * Returns the end of a tick, ms since the first packet of the file.
   * @param {number} tick
   * @returns {number}
   */
  msOfTick(tick) {
    return this.wasm?.wasm.playback_ms_of_tick(tick) ?? 0;
  }

  /**
   * Returns the tick at a time, ms since the first packet of the file.
   * @param {number} ms
   * @returns {number}
   */
  tickAt(ms) {
    return this.wasm?.wasm.watch_tick_at(ms) ?? 0;
  }
}
