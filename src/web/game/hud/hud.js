/**
 * Overlay of the game: connection state, leaderboard, chat, connection panel. It reads state and
 * writes the page. Text of other players is inserted as text, never as markup.
 *
 * @module game/hud/hud
 */

import { byId, onButton, setText } from './dom.js';
import { describeClose } from '../../lib/close-reasons.js';
import { isComposing } from '../../lib/held.js';
import { drawNetGraph } from '../../lib/net-graph.js';
import { showLane } from '../../lib/sync-panel.js';
import { ageMs } from '../../lib/interpolation.js';

/** Time that a chat line stays visible while the field is closed, ms. */
const CHAT_DISPLAY_MS = 9000;
const MAX_CHAT_LINES = 7;
const NOTE_MS = 2600;
/** Time that a notice of the operator stays visible, ms. */
const NOTICE_MS = 7000;
const REDRAW_INTERVAL_MS = 120;
/** Value of an unknown margin: the smallest i16. Lockstep has no margin. */
const UNKNOWN_MARGIN = -32768;

export class Hud {
  /**
   * @param {import('../world/world.js').World} world
   * @param {import('../net/connection.js').GameConnection} connection
   * @param {import('../net/rates.js').TrafficRates} rates
   * @param {(text: string) => boolean} sendChat
   */
  constructor(world, connection, rates, sendChat) {
    this.world = world;
    this.connection = connection;
    this.rates = rates;
    this.drawnAt = 0;
    this.note = { text: '', isWarning: false, untilMs: 0 };
    /** @type {unknown} */
    /** @type {import('../world/player.js').Board | null} */
    this.drawnBoard = null;
    this.boardKey = '';
    this.drawnChatKey = '';
    this.notifiedError = /** @type {unknown} */ (null);
    this.form = /** @type {HTMLFormElement} */ (byId('chat'));
    this.field = /** @type {HTMLInputElement} */ (byId('chat-text'));
    this.bindChat(sendChat);
    byId('retry').addEventListener('click', () => connection.retryNow());
    onButton('panel-button', () => this.togglePanel());
    onButton('panel-close', () => this.togglePanel());
    onButton('chat-button', () => this.openChat());
  }

  /** @param {(text: string) => boolean} sendChat */
  bindChat(sendChat) {
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.field.value.trim() !== '' && !sendChat(this.field.value)) this.showToast('Not connected: the message was not sent.', true);
      else this.field.value = '';
      this.closeChat();
    });
    this.field.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key !== 'Escape' || isComposing(event)) return;
      this.field.value = '';
      this.closeChat();
    });
    // A blur without Escape keeps the text, for example when a phone hides its keyboard.
    this.field.addEventListener('blur', () => this.closeChat());
  }

  openChat() {
    if (this.world.ownId === null) return;
    this.form.hidden = false;
    this.drawnChatKey = '';
    this.field.focus();
  }

  closeChat() {
    if (this.form.hidden) return;
    this.form.hidden = true;
    this.field.blur();
  }

  closePanel() {
    if (!byId('panel').hidden) this.togglePanel();
  }

  togglePanel() {
    const panel = byId('panel');
    panel.hidden = !panel.hidden;
    byId('panel-button').setAttribute('aria-expanded', String(!panel.hidden));
    this.drawnAt = 0;
  }

  /** @param {boolean} on */
  showSound(on) {
    const button = byId('sound-button');
    button.setAttribute('aria-pressed', String(on));
    button.title = on ? 'Sound is on (M)' : 'Sound is off (M)';
  }

  /**
   * Shows a toast for a moment. A message about the connection replaces the toast.
   * @param {string} text
   * @param {boolean} [isWarning] whether something did not happen
   */
  showToast(text, isWarning = false) {
    this.note = { text, isWarning, untilMs: performance.now() + NOTE_MS };
  }

  /** Redraws the overlay. Called once per frame. @param {number} nowMs */
  draw(nowMs) {
    if (nowMs - this.drawnAt < REDRAW_INTERVAL_MS) return;
    this.drawnAt = nowMs;
    this.drawStatus(nowMs);
    this.drawBoard();
    this.drawChat(nowMs);
    this.drawNotice(nowMs);
    if (!byId('panel').hidden) this.drawPanel(nowMs);
    if (!byId('speed').hidden) this.drawSpeed();
  }

  /** @param {number} nowMs */
  drawStatus(nowMs) {
    const { state, retryAt, attempt, lives, reason, isDelayed } = this.connection;
    const { error } = this.world;
    // The title card already shows the reason.
    const isOnCard = !byId('title').hidden;
    if (error && error !== this.notifiedError) {
      this.notifiedError = error;
      if (!isOnCard) this.showToast(error.detail || error.rule, true);
    }
    let text = '';
    if (state === 'waiting' && !(retryAt === Infinity && isOnCard)) {
      const seconds = Math.ceil(Math.max(0, retryAt - nowMs) / 1000);
      text = retryAt === Infinity ? describeClose(0, reason) : `${lives === 0 ? 'No connection' : 'Connection lost'}${reason ? ` (${reason})` : ''}. Retrying in ${seconds} s`;
    } else if (state === 'connecting') {
      text = isDelayed ? 'The server answers. The browser delays the connection …' : lives === 0 && attempt === 0 ? 'Connecting …' : `Reconnecting, attempt ${attempt} …`;
    } else if (this.note.untilMs > nowMs) text = this.note.text;
    const status = byId('status');
    status.hidden = text === '';
    status.dataset.state = state === 'live' && this.note.isWarning ? 'warning' : state;
    setText('status-text', text);
    byId('retry').hidden = state !== 'waiting' || retryAt === Infinity;
    document.body.classList.toggle('offline', state !== 'live' && lives > 0);
  }

  drawBoard() {
    const { leaderboard, ownId, players, stats } = this.world;
    // A local player below the top ten gets an extra row, with its current score.
    const below = ownId !== null && leaderboard.rank !== null && !leaderboard.rows.some((row) => row.player === ownId);
    const key = `${ownId}:${this.world.epoch}:${below ? stats.score : ''}`;
    if (this.drawnBoard === leaderboard && this.boardKey === key) return;
    this.drawnBoard = leaderboard;
    this.boardKey = key;
    const rows = leaderboard.rows.map((row, i) => boardRow(i + 1, row.name || `guest ${row.player}`, row.score, row.player === ownId));
    const { rank } = leaderboard;
    if (below && rank !== null) {
      rows.push(boardRow(rank, players.get(ownId)?.name ?? 'you', stats.score, true));
    }
    byId('board-rows').replaceChildren(...rows);
    byId('board').hidden = rows.length === 0;
    setText('board-count', `${leaderboard.players} playing`);
  }

  /** @param {number} nowMs */
  drawChat(nowMs) {
    const typing = !this.form.hidden;
    const lines = this.world.chat.filter((line) => typing || ageMs(nowMs, line.atMs) < CHAT_DISPLAY_MS).slice(-MAX_CHAT_LINES);
    const key = lines.map((line) => line.atMs).join();
    if (key === this.drawnChatKey) return;
    this.drawnChatKey = key;
    byId('log').replaceChildren(...lines.map((line) => {
      const row = document.createElement('li');
      row.classList.toggle('operator', line.player === null);
      const who = document.createElement('b');
      who.textContent = line.name || `guest ${line.player}`;
      row.append(who, ` ${line.text}`);
      return row;
    }));
  }

  /** Shows the notice of the operator in large text for a while. @param {number} nowMs */
  drawNotice(nowMs) {
    const { notice } = this.world;
    const shown = notice !== null && ageMs(nowMs, notice.atMs) < NOTICE_MS;
    if (shown) setText('notice-text', notice.text);
    if (byId('notice').hidden === shown) byId('notice').hidden = !shown;
  }

  /** Shows frame rate and ping if the setting is on. */
  drawSpeed() {
    const { pingMs } = this.connection;
    setText('speed', `${Math.round(this.rates.framesPerSecond)} fps · ${pingMs === null ? '–' : Math.round(pingMs)} ms`);
  }

  /** @param {number} nowMs */
  drawPanel(nowMs) {
    const { world, connection, rates } = this;
    const gap = connection.history.longestGapMs(nowMs);
    /** @param {string} name */
    const rate = (name) => Math.round(rates.perSecond[name] ?? 0);
    const margin = world.own?.marginTicks;
    setText('p-ping', connection.pingMs === null ? '–' : `${connection.pingMs.toFixed(connection.pingMs < 10 ? 1 : 0)} ms`);
    showLane(connection.transport.laneStatus);
    setText('p-tick', `${world.tick} at ${world.tickHz} Hz`);
    setText('p-updates', `${rate('updatesIn')} /s`);
    setText('p-gap', gap === null ? '–' : `${Math.round(gap)} ms`);
    setText('p-in', `${bytes(rate('bytesIn'))}/s`);
    setText('p-out', `${bytes(rate('bytesOut'))}/s`);
    setText('p-view', String(world.players.size));
    setText('p-margin', margin === undefined || margin === UNKNOWN_MARGIN ? '–' : `${margin > 0 ? '+' : ''}${margin} ticks`);
    const { isActive, figures } = world.prediction ?? { isActive: false, figures: { leadMs: 0, corrected: 0, compared: 0, p99ErrorPx: 0 } };
    setText('p-lead', isActive && world.predicted ? `${Math.round(figures.leadMs)} ms` : '–');
    setText('p-corrections', isActive && figures.compared > 0 ? `${figures.corrected} of ${figures.compared}` : '–');
    setText('p-delay', `${Math.round(world.clock.delayMs)} ms`);
    setText('p-frames', `${Math.round(rates.framesPerSecond)} /s`);
    drawNetGraph(/** @type {HTMLCanvasElement} */ (byId('p-graph')), connection.history, nowMs);
  }
}

/** @param {number} rank @param {string} name @param {number} score @param {boolean} own */
function boardRow(rank, name, score, own) {
  const row = document.createElement('li');
  row.classList.toggle('own', own);
  for (const text of [`${rank}`, own ? `▸ ${name}` : name, score.toLocaleString('en')]) {
    const part = document.createElement('span');
    part.textContent = text;
    row.append(part);
  }
  return row;
}

/** @param {number} count */
function bytes(count) {
  return count < 1000 ? `${count} B` : `${(count / 1000).toFixed(1)} kB`;
}
