/**
 * A capture that is watched again: `tickwire.wasm` runs its world, and says what a server would have said of it. The page draws that as it draws a game, by
 * a time of its own, which stands still in a pause and runs faster or slower with the speed.
 *
 * ```text
 *  file, as it comes ─► tickwire.wasm ─┬─ index: each tick once, checked, in slices
 *                                 └─ seek, play ─► messages ─► page
 * ```
 *
 * @module playback/playback
 */

import { parseRecords } from '../lib/lockstep.js';
import { WasmInstance } from '../wasm/instance.js';

/** Speeds that are offered. */
export const PLAYBACK_SPEEDS = Object.freeze([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]);
/** Up to this speed the page is received of each tick by itself. */
const EACH_TICK_SPEED = 4;
/** How long a slice of work may take: while somebody waits for a picture, behind one, and of reading the file. */
const [SEEK_MS, INDEX_MS, READ_MS] = [24, 7, 12];
/** Longest time between two frames that counts: a page that was hidden goes on where it was. */
const FRAME_MS = 250;
/** Bytes of the file that are given at once. */
const PIECE_BYTES = 1 << 20;
/** By so much the page's time jumps at a seek: whatever flew, flashed or was said is long over. */
const SEEK_TIME_JUMP_MS = 30_000;
/** How often the page hears how far the file is. */
const NOTIFY_INTERVAL_MS = 100;

/**
 * @typedef {object} Status
 * @property {number | null} tick ticks completed of what is seen
 * @property {number} first ticks completed when the recording begins
 * @property {number} last after the last tick that has come
 * @property {number} tick_hz
 * @property {string | null} ended why no more ticks can be watched
 * @property {number} indexed up to here every checksum was compared
 * @property {{ tick: number, recorded: string, replayed: string } | null} differs the first checksum that differs
 * @property {number} snapshots @property {number} snapshot_bytes
 * @property {number} begin_ms when the file begins, ms since 1970
 * @property {[tick: number, kind: 'joined' | 'left' | 'away' | 'killed', name: string, killer: string][]} marks
 */

/** @typedef {{ name: string, why?: string, game?: string, tick_hz?: number, first?: number, last?: number }} CaptureRoom */
/** @typedef {{ own_game: string | null, bytes: number, end: null | { whole?: true, cut_at?: number, why?: string }, why: string | null, rooms: CaptureRoom[] }} CaptureFile */

/** What the page does with it. @typedef {{ onMessage: (message: Uint8Array, nowMs: number) => void, onChange: () => void, onSeekDone: () => void }} PlaybackPage */

/** The room to play. `game` is '' on a page of a program with one game of its own. @typedef {{ game: string, dialect: string, table: string, room: string, tick: number | null }} PlaybackRequest */

const pause = () => new Promise((done) => { setTimeout(done); });

/** See the module. */
export class Playback {
  /** @param {() => Promise<WebAssembly.Module>} load gets `tickwire.wasm` @param {PlaybackPage} page */
  constructor(load, page) {
    this.load = load;
    this.page = page;
    /** @type {WasmInstance | null} */
    this.wasm = null;
    /** Which file is shown: what an earlier one brings is void. */
    this.run = 0;
    /** Why nothing can be watched, as a sentence; '' while something may be. */
    this.why = '';
    /** @type {CaptureFile | null} */
    this.file = null;
    /** @type {Status | null} */
    this.status = null;
    /** All marks so far. @type {Status['marks']} */
    this.marks = [];
    /** The room that is watched; null before there is one. @type {string | null} */
    this.room = null;
    this.playing = false;
    this.speed = 1;
    /** Ticks completed of what is seen; 0 before anything is. */
    this.tick = 0;
    /** Where a seek goes; null without one. @type {number | null} */
    this.seeking = null;
    /** A tick that has not come yet, to which it goes as soon as it has. @type {number | null} */
    this.wanted = null;
    /** Whether clients of the game may follow a player. */
    this.canFollow = false;
    /** Whom one follows; null for the leader. @type {number | null} */
    this.followed = null;
    /** The page's time, ms. */
    this.ms = 0;
    /** Real time of the last frame. */
    this.frameMs = 0;
    /** Part of a tick that has passed since the last one. */
    this.part = 0;
    this.isWorking = false;
    /** Ticks of a slice of work; as many as fit. */
    this.slice = 8;
    this.notifiedMs = 0;
    /** How long it took from the beginning to the first picture, and how long the last seek took, ms. */
    this.times = { first: 0, seek: 0 };
    this.askedMs = 0;
  }

  get tickMs() {
    return 1000 / (this.status?.tick_hz ?? 30);
  }

  /** Whether all of the file has come. */
  get isWhole() {
    return this.file?.end !== null && this.file !== null;
  }

  /**
   * Reads a file, and shows it as soon as there is something to show.
   * @param {() => Promise<ReadableStream<Uint8Array>>} open the file @param {PlaybackRequest} request
   */
  async read(open, request) {
    const run = this.begin();
    try {
      const module = await this.load();
      const stream = await open();
      // An instance of its own, so that its memory goes when the file does.
      const wasm = new WasmInstance(await WebAssembly.instantiate(module, {}));
      wasm.wasm.main?.(0, 0);
      wasm.wasm.watch_begin();
      if (run !== this.run) return;
      this.wasm = wasm;
      const reader = stream.getReader();
      let sliceMs = performance.now();
      for (let more = await reader.read(); !more.done && run === this.run; more = await reader.read()) {
        for (let at = 0; at < more.value.length; at += PIECE_BYTES) {
          wasm.setInput(more.value.subarray(at, at + PIECE_BYTES));
          wasm.wasm.watch_feed();
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

  /** Opens the room, once its first tick has come. @param {PlaybackRequest} wish */
  openRoomWhenReady({ game, dialect, table, room, tick }) {
    const { wasm } = this;
    if (!wasm) return;
    this.file = /** @type {CaptureFile} */ (wasm.json(wasm.wasm.watch_file()));
    if (this.room !== null) return this.refreshStatus(true);
    const { rooms, end } = this.file;
    const wanted = game || this.file.own_game;
    const ready = rooms.filter((one) => one.game === wanted);
    // The room of this page; another one only if the file does not have it.
    const one = ready.find(({ name }) => name === room) ?? (end ? ready[0] : undefined);
    if (one) {
      wasm.setInputText(`${one.name}\n${dialect}\n${table}`);
      wasm.json(wasm.wasm.watch_open());
      this.room = one.name;
      this.canFollow = table.includes('\twatching\t');
      // One looks at a tick that was linked to, and goes on from it.
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

  /** Watches another room of the file. @param {string} name @param {PlaybackRequest} request */
  selectRoom(name, request) {
    this.room = null;
    this.marks = [];
    this.followed = null;
    this.tryCall(() => this.openRoomWhenReady({ ...request, room: name }));
  }

  /** Brings what is known of the room up to date. @param {boolean} [now] whether it was received lately or not */
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

  /** Goes to the world after so many ticks. @param {number} tick */
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
   * Runs the world. If that fails, its memory cannot be trusted any more: the recording ends with words instead of a picture that stands still.
   * @template T @param {() => T} act @returns {T | undefined}
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

  /** Works in slices until nothing is left. */
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
      const most = wasSeeking ? SEEK_MS : INDEX_MS;
      this.slice = Math.min(Math.max(this.slice * Math.min(Math.max(most / took, 0.25), 2), 4), 20_000);
      if (out.length > 1) this.onSeekDone(out.subarray(1));
      this.isWorking = out[0] === 1;
      this.refreshStatus(!this.isWorking);
      if (this.isWorking) setTimeout(slice);
    };
    setTimeout(slice);
  }

  /** A seek has come to its end: the page begins anew. @param {Uint8Array} out */
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

  /** The page's time at a frame; plays as many ticks as are due. Call once a frame. @param {number} nowMs real time */
  advance(nowMs) {
    const elapsed = Math.min(FRAME_MS, Math.max(0, nowMs - this.frameMs));
    this.frameMs = nowMs;
    const { status } = this;
    if (!this.playing || !status || this.seeking !== null || this.tick === 0) return this.ms;
    // What has come is over: if more comes, it goes on.
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

  /** @param {number} ticks @param {number} nowMs the page's time at the last of them */
  play(ticks, nowMs) {
    const { wasm } = this;
    if (!wasm) return;
    const received = this.tryCall(() => parseRecords(wasm.outputBytes(wasm.wasm.watch_play(ticks)).slice()).received) ?? [];
    for (const message of received) this.page.onMessage(message, nowMs);
    this.tick = this.wasm?.wasm.watch_tick() ?? this.tick;
  }

  /** Plays, or pauses. @param {boolean} [plays] */
  toggle(plays = !this.playing) {
    const { status } = this;
    if (!status) return;
    this.playing = plays;
    // From its end it begins again.
    if (plays && this.isWhole && this.tick >= status.last) this.seek(status.first);
    this.page.onChange();
  }

  /** One tick on, or back. @param {number} by */
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

  /** Follows a player, null for the leader. @param {number | null} player */
  follow(player) {
    this.followed = player;
    this.wasm?.wasm.watch_follow(player ?? 0);
    // In a pause one sees it at once.
    if (!this.playing && this.tick > 0) this.seek(this.tick);
    this.page.onChange();
  }

  /** Who is there in what is seen: numbers and names. @returns {[number, string][]} */
  players() {
    const { wasm } = this;
    return wasm && this.room !== null ? wasm.json(wasm.wasm.watch_players()).players : [];
  }

  /** The checksum of what is seen, and the recorded one; null if it was not recorded. @returns {[string, string | null]} */
  checksums() {
    const { wasm } = this;
    const hex = (/** @type {bigint} */ number) => BigInt.asUintN(64, number).toString(16).padStart(16, '0');
    if (!wasm) return ['', null];
    const recorded = wasm.wasm.watch_recorded(this.tick);
    return [hex(wasm.wasm.watch_checksum()), recorded === 0n ? null : hex(recorded)];
  }

  /** Time from the first packet of the file to the end of a tick, ms. @param {number} tick @returns {number} */
  msOfTick(tick) {
    return this.wasm?.wasm.watch_ms_of(tick) ?? 0;
  }

  /** The tick at such a time. @param {number} ms @returns {number} */
  tickAt(ms) {
    return this.wasm?.wasm.watch_tick_at(ms) ?? 0;
  }
}
