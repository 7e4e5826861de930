/**
 * Control bar of a capture: play and pause, a time line with markers, speed, the spectated player,
 * and a link to the tick. It creates its own elements, so that any page can use it;
 * `playback/playback.css` is its style sheet.
 *
 * @module playback/bar
 */

import { copyText } from '../lib/clipboard.js';
import { HeldPointers } from '../lib/held.js';
import { withQueryParam } from '../lib/netem-menu.js';
import { PLAYBACK_SPEEDS } from './playback.js';

/** Redraw interval, ms. */
const REDRAW_INTERVAL_MS = 100;
/** Steps of the arrow keys, s: without Shift, with Shift. */
const [STEP_S, LEAP_S] = [5, 30];
/** Maximum distance between the pointer and a marker at which the marker is described, px. */
const NEAR_PX = 5;
/** Interval at which the address is updated during playback, ms. */
const ADDRESS_MS = 1000;
/** Colours of markers by kind. @type {Readonly<Record<string, string>>} */
const COLOURS = Object.freeze({ joined: '#8fd694', back: '#8fd694', left: '#9aa3bd', away: '#9aa3bd', killed: '#ff7f6b' });
/** Later kinds are drawn over earlier ones. */
const MARKER_ORDER = Object.freeze(['left', 'away', 'back', 'joined', 'killed']);

const PLAY = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M7 4.5l13 7.5-13 7.5z"/></svg>';
const PAUSE = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 4.5h4.5v15H6zM13.5 4.5H18v15h-4.5z"/></svg>';
const HTML = `
  <p class="message" role="status" hidden><span class="words"></span><span class="figures"></span> <button type="button" class="choose">Open a capture</button><button type="button" class="away" aria-label="Close this note" title="Close this note">×</button></p>
  <div class="time" role="slider" tabindex="0" aria-label="Time"><canvas></canvas><output hidden></output></div>
  <div class="deeds">
    <button type="button" class="play" title="Play or pause (Space)"></button>
    <span class="clock"><b></b> <span class="of"></span></span>
    <span class="tick"></span>
    <label class="speed">Speed <select></select></label>
    <label class="follow">Follow <select></select></label>
    <label class="room" hidden>Room <select></select></label>
    <span class="space"></span>
    <button type="button" class="link" title="Copy a link to this tick">Copy link</button>
    <button type="button" class="wire" aria-expanded="false">See the wire</button>
    <button type="button" class="file" title="Open another capture">Open</button>
  </div>
  <input type="file" accept=".pcapng,.pcap" hidden>`;

/**
 * Formats a time as minutes and seconds.
 * @param {number} seconds
 * @param {number} [digits] digits after the decimal point
 */
export function formatTime(seconds, digits = 0) {
  const whole = Math.floor(Math.max(0, seconds) * 10 ** digits + 1e-6) / 10 ** digits;
  const minutes = Math.floor(whole / 60);
  return `${minutes}:${(whole - minutes * 60).toFixed(digits).padStart(digits === 0 ? 2 : 3 + digits, '0')}`;
}

/** Returns the tick in a fragment; null if it contains no tick. @param {string} hash */
export function tickFromHash(hash) {
  const found = /(?:^#|&)tick=(\d{1,10})(?:&|$)/.exec(hash);
  return found ? Number(found[1]) : null;
}

/** Describes a marker. @param {[number, string, string, string]} mark */
export function describeMarker([, kind, name, killer]) {
  const who = name || 'a guest';
  if (kind === 'killed') return killer ? `${killer} killed ${who}` : `${who} died`;
  return { joined: `${who} joined`, left: `${who} left`, away: `${who} lost the connection`, back: `${who} came back` }[kind] ?? '';
}

/**
 * Returns a status sentence for the recording, or ''.
 * @param {import('./playback.js').Playback} watch
 */
export function statusText({ why, file, status, wanted }) {
  if (why !== '') return why;
  if (!status) return 'Reading the capture …';
  if (wanted !== null) return `Reading the capture up to tick ${wanted} …`;
  const { differs, ended, last } = status;
  if (differs) {
    return `From tick ${differs.tick} on this is not what was recorded: the checksum is ${differs.replayed}, and ${differs.recorded} was recorded.`;
  }
  if (ended) return `It can be watched up to tick ${last}: ${ended}.`;
  const end = file?.end;
  if (end?.cut_at !== undefined) return `The file ends in the middle of a block, at byte ${end.cut_at}: it is shown up to there.`;
  if (end?.why !== undefined) return `The file is damaged ${end.why}; it is shown up to there.`;
  return '';
}

export class PlaybackBar {
  /**
   * @param {import('./playback.js').Playback} playback
   * @param {{ open: (file: File) => void, room: (name: string) => void, wire: () => void, isWire:
   *   () => boolean | null, hasLink: () => boolean }} on `wire` toggles the inspector; `isWire`
   *   returns whether it is visible, null without an inspector
   */
  constructor(playback, on) {
    this.playback = playback;
    this.on = on;
    this.drawnMs = 0;
    this.addressMs = 0;
    /** Pointer position on the time line, px. @type {number | null} */
    this.pointed = null;
    this.drawnPlayersKey = '';
    /** The status text that the user has closed. */
    this.closed = '';
    this.bar = document.createElement('section');
    this.bar.id = 'watch';
    this.bar.setAttribute('aria-label', 'Recording');
    this.bar.innerHTML = HTML;
    if (!document.querySelector('link[href$="playback/playback.css"]')) {
      const sheet = { rel: 'stylesheet', href: new URL('playback.css', import.meta.url).href };
      document.head.append(Object.assign(document.createElement('link'), sheet));
    }
    document.body.append(this.bar);
    document.body.classList.add('watching');
    /** @param {string} selector */
    const at = (selector) => /** @type {HTMLElement} */ (this.bar.querySelector(selector));
    this.find = at;
    this.canvas = /** @type {HTMLCanvasElement} */ (at('canvas'));
    at('.speed select').replaceChildren(...PLAYBACK_SPEEDS.map((speed) => new Option(`${speed}×`, String(speed), speed === 1, speed === 1)));
    this.listen(at);
    addEventListener('hashchange', ({ newURL }) => {
      // The playback may have changed the address itself.
      const tick = tickFromHash(new URL(newURL).hash);
      if (tick !== null && tick !== playback.tick) {
        playback.toggle(false);
        playback.seek(tick);
      }
    });
    this.files(/** @type {HTMLInputElement} */ (at('input[type=file]')));
  }

  /** @param {(selector: string) => HTMLElement} at */
  listen(at) {
    const { playback, on } = this;
    /** @param {string} selector @param {() => void} act */
    const press = (selector, act) => at(selector).addEventListener('click', (/** @type {MouseEvent} */ event) => {
      // A mouse press returns the keyboard focus to the playback.
      if (event.detail > 0) /** @type {HTMLElement} */ (event.currentTarget).blur();
      act();
      this.drawNow();
    });
    press('.play', () => playback.toggle());
    press('.link', () => this.copy());
    press('.wire', () => on.wire());
    press('.message .away', () => { this.closed = statusText(playback); });
    for (const selector of ['.file', '.choose']) press(selector, () => at('input[type=file]').click());
    /** @param {string} selector @param {(value: string) => void} act */
    const choose = (selector, act) => at(`${selector} select`).addEventListener('change', (/** @type {Event} */ { target }) => {
      const select = /** @type {HTMLSelectElement} */ (target);
      act(select.value);
      select.blur();
    });
    choose('.speed', (value) => playback.setSpeed(Number(value)));
    choose('.follow', (value) => playback.follow(value === '' ? null : Number(value)));
    choose('.room', (value) => on.room(value));
    const time = /** @type {HTMLElement} */ (at('.time'));
    const drag = (/** @type {PointerEvent} */ event) => this.drag(event);
    new HeldPointers(time, { pressed: drag, moved: drag });
    time.addEventListener('pointermove', (event) => {
      this.pointed = event.offsetX;
      this.drawNow();
    });
    time.addEventListener('pointerleave', () => { this.pointed = null; this.drawNow(); });
    addEventListener('keydown', (event) => this.key(event), { capture: true });
  }

  /** Opens a file that is selected, or dropped on the page. @param {HTMLInputElement} chosen */
  files(chosen) {
    chosen.addEventListener('change', () => {
      if (chosen.files?.[0]) this.on.open(chosen.files[0]);
      chosen.value = '';
    });
    document.addEventListener('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      document.body.classList.add('dropping');
    });
    document.addEventListener('dragleave', (event) => { if (event.relatedTarget === null) document.body.classList.remove('dropping'); });
    document.addEventListener('drop', (event) => {
      document.body.classList.remove('dropping');
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      this.on.open(file);
    });
  }

  /** Returns the position of a tick on the time line, px. @param {number} tick */
  xOf(tick) {
    const { first, last } = this.playback.status ?? { first: 0, last: 1 };
    return ((tick - first) / Math.max(1, last - first)) * this.canvas.clientWidth;
  }

  /** Returns the tick at a position of the time line. @param {number} x px */
  tickAtX(x) {
    const { first, last } = this.playback.status ?? { first: 0, last: 1 };
    const part = Math.min(1, Math.max(0, x / Math.max(1, this.canvas.clientWidth)));
    return Math.round(first + part * (last - first));
  }

  /** @param {PointerEvent} event */
  drag(event) {
    this.playback.seek(this.tickAtX(event.offsetX));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { playback } = this;
    const { target, key, shiftKey } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !playback.status) return;
    // Keys in a menu and Space or Enter on a button have their usual effect.
    if (target instanceof HTMLSelectElement || target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) return;
    if (target instanceof HTMLButtonElement && [' ', 'Enter'].includes(key)) return;
    const by = (shiftKey ? LEAP_S : STEP_S) * playback.status.tick_hz;
    const from = playback.wanted ?? playback.seeking ?? playback.tick;
    /** @type {Record<string, () => void>} */
    const deeds = {
      ' ': () => playback.toggle(),
      ArrowLeft: () => playback.seek(from - by),
      ArrowRight: () => playback.seek(from + by),
      Home: () => playback.seek(0),
      End: () => playback.seek(playback.status?.last ?? 0),
      ',': () => playback.step(-1),
      '.': () => playback.step(1),
      ArrowUp: () => this.changeSpeed(1),
      ArrowDown: () => this.changeSpeed(-1),
    };
    const deed = deeds[key];
    if (!deed) return;
    event.preventDefault();
    event.stopPropagation();
    deed();
    this.drawNow();
  }

  /** Changes the speed. @param {number} by steps in the list of speeds */
  changeSpeed(by) {
    const index = PLAYBACK_SPEEDS.indexOf(this.playback.speed) + by;
    this.playback.setSpeed(PLAYBACK_SPEEDS[Math.min(Math.max(index, 0), PLAYBACK_SPEEDS.length - 1)]);
  }

  /** Address of the page at the current tick. */
  get address() {
    const link = new URL(location.href);
    link.search = withQueryParam(location.search, 'inspector', null);
    link.hash = `tick=${this.playback.tick}`;
    return link.href;
  }

  async copy() {
    const isDone = await copyText(this.address);
    const button = this.find('.link');
    button.textContent = isDone ? 'Copied' : 'Not copied';
    setTimeout(() => { button.textContent = 'Copy link'; }, 1500);
  }

  /**
   * Writes the tick to the address: at an interval during playback, at once in a pause.
   * @param {number} nowMs
   */
  updateAddress(nowMs) {
    const { playback } = this;
    if (playback.tick === 0 || playback.seeking !== null || playback.wanted !== null || !this.on.hasLink()) return;
    if (playback.playing && nowMs - this.addressMs < ADDRESS_MS) return;
    const hash = `#tick=${playback.tick}`;
    if (location.hash === hash) return;
    this.addressMs = nowMs;
    history.replaceState(null, '', hash);
  }

  /** Redraws the bar. Called once per frame. @param {number} nowMs real time, ms */
  draw(nowMs) {
    if (nowMs - this.drawnMs < REDRAW_INTERVAL_MS) return;
    this.drawNow();
    this.updateAddress(nowMs);
  }

  drawNow() {
    const { playback, find } = this;
    this.drawnMs = performance.now();
    const { status } = playback;
    const note = statusText(playback);
    // Narrow pages hide the checksums.
    const [words, ...figures] = status?.differs && playback.why === '' ? note.split(/(?=: the checksum)/) : [note];
    setText(find('.message .words'), words);
    setText(find('.message .figures'), figures.join(''));
    find('.message').hidden = note === '' || note === this.closed;
    find('.message').classList.toggle('bad', playback.why !== '' || Boolean(status?.differs));
    find('.message .away').hidden = !status || playback.why !== '';
    this.bar.classList.toggle('alone', !status && playback.why !== '');
    find('.message .choose').hidden = playback.why === '';
    for (const part of this.bar.querySelectorAll('.time, .deeds')) part.classList.toggle('off', !status);
    const button = find('.play');
    if (button.dataset.playing !== String(playback.playing)) {
      button.dataset.playing = String(playback.playing);
      button.innerHTML = playback.playing ? PAUSE : PLAY;
      button.setAttribute('aria-label', playback.playing ? 'Pause' : 'Play');
    }
    find('.link').hidden = !this.on.hasLink();
    const isWire = this.on.isWire();
    find('.wire').hidden = isWire === null;
    find('.wire').setAttribute('aria-expanded', String(isWire));
    setText(find('.wire'), isWire ? 'Hide the wire' : 'See the wire');
    if (!status) return;
    const tick = playback.seeking === null ? playback.tick : Math.min(Math.max(playback.seeking, status.first), status.last);
    /** @param {number} count ticks */
    const seconds = (count) => count / status.tick_hz;
    setText(find('.clock b'), formatTime(seconds(tick - status.first), 1));
    setText(find('.clock .of'), `/ ${formatTime(seconds(status.last - status.first))}`);
    setText(find('.tick'), `tick ${tick}`);
    const speed = /** @type {HTMLSelectElement} */ (find('.speed select'));
    if (document.activeElement !== speed) speed.value = String(playback.speed);
    this.drawPlayers();
    this.drawRooms();
    this.drawTime(tick);
  }

  /** Redraws the menu of players, unless it is open. */
  drawPlayers() {
    const { playback } = this;
    const select = /** @type {HTMLSelectElement} */ (this.find('.follow select'));
    this.find('.follow').hidden = !playback.canFollow;
    if (document.activeElement === select) return;
    const players = [...playback.players()].sort(([, one], [, other]) => one.localeCompare(other));
    const key = JSON.stringify([players, playback.followed]);
    if (key === this.drawnPlayersKey) return;
    this.drawnPlayersKey = key;
    const options = players.map(([id, name]) => new Option(name || `guest ${id}`, String(id)));
    const isGone = playback.followed !== null && !players.some(([id]) => id === playback.followed);
    if (isGone) options.unshift(new Option(`player ${playback.followed} (not there)`, String(playback.followed)));
    select.replaceChildren(new Option('the leader', ''), ...options);
    select.value = playback.followed === null ? '' : String(playback.followed);
  }

  /** Redraws the menu of the rooms of the same game. */
  drawRooms() {
    const { file, room } = this.playback;
    const game = file?.rooms.find(({ name }) => name === room)?.game;
    const rooms = file?.rooms.filter((one) => one.game === game && one.game !== undefined) ?? [];
    const label = this.find('.room');
    label.hidden = rooms.length < 2;
    const select = /** @type {HTMLSelectElement} */ (this.find('.room select'));
    if (label.hidden || document.activeElement === select) return;
    if (select.options.length === rooms.length) {
      select.value = room ?? '';
      return;
    }
    select.replaceChildren(...rooms.map(({ name }) => new Option(name || 'default', name, false, name === room)));
  }

  /** @param {number} tick */
  drawTime(tick) {
    const { canvas, playback } = this;
    const { status } = playback;
    if (!status) return;
    const [width, height, dots] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
    if (canvas.width !== Math.round(width * dots)) canvas.width = Math.round(width * dots);
    if (canvas.height !== Math.round(height * dots)) canvas.height = Math.round(height * dots);
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.clearRect(0, 0, width, height);
    const line = { top: height - 13, high: 6 };
    /** @param {number} from @param {number} to @param {string} colour */
    const span = (from, to, colour) => {
      pen.fillStyle = colour;
      pen.fillRect(this.xOf(from), line.top, Math.max(0, this.xOf(to) - this.xOf(from)), line.high);
    };
    span(status.first, status.last, '#454d66');
    span(status.first, status.indexed, '#6b7592');
    if (status.differs) span(status.differs.tick, status.last, '#a3383a');
    span(status.first, tick, '#f2b632');
    for (const kind of MARKER_ORDER) {
      pen.fillStyle = COLOURS[kind];
      for (const [at, own] of playback.marks) if (own === kind) pen.fillRect(Math.round(this.xOf(at)) - 1, 1, 2, line.top - 4);
    }
    pen.fillStyle = '#fff';
    pen.beginPath();
    pen.arc(this.xOf(tick), line.top + line.high / 2, 8, 0, 7);
    pen.fill();
    this.drawPointed(status);
    const slider = this.find('.time');
    const words = `${formatTime((tick - status.first) / status.tick_hz)}, tick ${tick}`;
    slider.setAttribute('aria-valuemin', String(status.first));
    slider.setAttribute('aria-valuemax', String(status.last));
    slider.setAttribute('aria-valuenow', String(tick));
    slider.setAttribute('aria-valuetext', words);
  }

  /**
   * Shows the time and the markers under the pointer.
   * @param {import('./playback.js').Status} status
   */
  drawPointed(status) {
    const output = /** @type {HTMLElement} */ (this.find('output'));
    output.hidden = this.pointed === null;
    const x = this.pointed;
    if (x === null) return;
    const tick = this.tickAtX(x);
    const near = this.playback.marks.filter(([at]) => Math.abs(this.xOf(at) - x) < NEAR_PX);
    const words = near.slice(0, 3).map(describeMarker);
    if (near.length > 3) words.push(`${near.length - 3} more`);
    setText(output, [formatTime((tick - status.first) / status.tick_hz), ...words].join(' · '));
    const half = output.offsetWidth / 2;
    output.style.left = `${Math.min(Math.max(x, half), this.canvas.clientWidth - half)}px`;
  }
}

/** @param {HTMLElement} target @param {string} text */
function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
