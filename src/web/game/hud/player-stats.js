/**
 * Player statistics: resources, age, kill feed and death card. It reads state and writes the page.
 * Names are inserted as text, never as markup.
 *
 * @module game/hud/player-stats
 */

import { drawIcon } from '../draw/icons.js';
import { bestScore, recordScore } from './best-score.js';
import { byId, setText } from './dom.js';
import { CARD_MS } from '../scene.js';
import { ageMs } from '../../lib/interpolation.js';

/** Time that a kill message stays visible, ms. */
const KILL_DISPLAY_MS = 7000;
/** Maximum number of visible kill messages. */
const MAX_KILLS = 5;
const STATS = /** @type {const} */ (['wood', 'food', 'stone', 'gold', 'kills', 'score']);
const REDRAW_INTERVAL_MS = 80;
/** Side of an icon, device px. It suffices for the sharpest screen. */
const ICON_PX = 132;
/** Time that a statistic stays highlighted after it has risen, ms. */
const HIGHLIGHT_MS = 450;

export class PlayerStatsHud {
  /** @param {import('../world/world.js').World} world @param {() => void} onAgain */
  constructor(world, onAgain) {
    this.world = world;
    this.onAgain = onAgain;
    this.drawnAt = 0;
    this.drawnKillsKey = '';
    /**
     * Row of each kill message. Each row is created once, so that its fading does not restart.
     * @type {WeakMap<object, HTMLElement>}
     */
    this.rows = new WeakMap();
    this.wasDead = false;
    this.game = byId('game');
    this.wasNarrow = this.isNarrow;
    /** @type {Record<string, { value: number, atMs: number }>} */
    this.shown = Object.fromEntries(STATS.map((name) => [name, { value: -1, atMs: -Infinity }]));
    for (const canvas of document.querySelectorAll('canvas[data-icon]')) paintIcon(/** @type {HTMLCanvasElement} */ (canvas));
    byId('again').addEventListener('click', () => this.respawn());
  }

  /** Whether the game's part of the window is narrow. The style sheet uses the same limits. */
  get isNarrow() {
    return this.game.clientWidth <= 820 || this.game.clientHeight <= 520;
  }

  /** Whether the death card is visible. */
  get isDeathCardReady() {
    const { death } = this.world;
    return death !== null && ageMs(performance.now(), death.atMs) > CARD_MS;
  }

  /** Respawns if the death card is visible. */
  respawn() {
    if (this.isDeathCardReady) this.onAgain();
  }

  /** Redraws the statistics. Called once per frame. @param {number} nowMs */
  draw(nowMs) {
    this.drawDeath(nowMs);
    if (nowMs - this.drawnAt < REDRAW_INTERVAL_MS) return;
    this.drawnAt = nowMs;
    this.drawFigures(nowMs);
    this.drawKills(nowMs);
  }

  /** @param {number} nowMs */
  drawFigures(nowMs) {
    const { stats } = this.world;
    const { isNarrow } = this;
    for (const name of STATS) {
      const shown = this.shown[name];
      const value = stats[name];
      if (value !== shown.value || isNarrow !== this.wasNarrow) {
        if (value > shown.value && shown.value >= 0) shown.atMs = nowMs;
        if (name === 'score' && this.world.ownId !== null) recordScore(value);
        shown.value = value;
        setText(`f-${name}`, formatCompact(value, isNarrow));
      }
      byId(`f-${name}`).parentElement?.classList.toggle('lit', ageMs(nowMs, shown.atMs) < HIGHLIGHT_MS);
    }
    this.wasNarrow = isNarrow;
    setText('age', `Age ${stats.age}`);
    const part = stats.xp_next > 0 ? Math.max(0, Math.min(1, stats.xp / stats.xp_next)) : 0;
    const fill = byId('age-fill');
    const scale = `${part.toFixed(4)} 1`;
    if (fill.style.scale !== scale) fill.style.scale = scale;
    setText('age-xp', stats.xp_next > 0 ? `${stats.xp} of ${stats.xp_next}` : '');
  }

  /** @param {number} nowMs */
  drawKills(nowMs) {
    const kills = this.world.kills.filter((kill) => ageMs(nowMs, kill.atMs) < KILL_DISPLAY_MS).slice(-MAX_KILLS);
    const key = kills.map((kill) => `${kill.atMs}:${kill.victim}`).join();
    if (key === this.drawnKillsKey) return;
    this.drawnKillsKey = key;
    for (const kill of kills) if (!this.rows.has(kill)) this.rows.set(kill, this.killRow(kill));
    byId('kills').replaceChildren(...kills.map((kill) => /** @type {HTMLElement} */ (this.rows.get(kill))));
  }

  /** @param {import('../world/player.js').KillMessage} kill */
  killRow({ killer, killerName, victim, victimName, atMs }) {
    const row = document.createElement('li');
    const own = this.world.bodyId;
    row.classList.toggle('won', killer !== null && killer === own);
    row.classList.toggle('lost', victim === own);
    row.style.animationDelay = `${Math.round(atMs + KILL_DISPLAY_MS - 900 - performance.now())}ms`;
    const icon = document.createElement('canvas');
    icon.dataset.icon = 'kills';
    paintIcon(icon);
    /** @param {number | null} id @param {string} text */
    const name = (id, text) => {
      const who = document.createElement('b');
      who.textContent = text || `guest ${id}`;
      return who;
    };
    if (killer === null) row.append(name(victim, victimName), ' died ', icon);
    else row.append(name(killer, killerName), icon, name(victim, victimName));
    return row;
  }

  /** @param {number} nowMs */
  drawDeath(nowMs) {
    const { death } = this.world;
    const card = byId('death');
    const shown = death !== null && ageMs(nowMs, death.atMs) > CARD_MS;
    if ((death !== null) !== this.wasDead) {
      this.wasDead = death !== null;
      document.body.classList.toggle('dead', this.wasDead);
    }
    if (card.hidden !== shown) return;
    card.hidden = !shown;
    if (!death || !shown) return;
    const alone = death.beast ? `A ${death.beast} got you.` : 'Nobody is to blame.';
    setText('death-by', death.killer === null ? alone : `${death.name || `guest ${death.killer}`} got you.`);
    setText('d-age', String(death.age));
    setText('d-kills', String(death.kills));
    setText('d-score', death.score < 1e5 ? death.score.toLocaleString('en') : formatCompact(death.score));
    recordScore(death.score);
    const best = bestScore();
    byId('death-best').hidden = best === 0;
    setText('death-best', death.score === best ? 'Your best score so far.' : `Your best score: ${best.toLocaleString('en')}.`);
  }
}

/** Draws an icon. @param {HTMLCanvasElement} canvas has the icon's name in `data-icon` */
function paintIcon(canvas) {
  canvas.width = canvas.height = ICON_PX;
  if (!canvas.hasAttribute('aria-label')) canvas.setAttribute('aria-hidden', 'true');
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  drawIcon(ctx, canvas.dataset.icon ?? 'score', ICON_PX / 2, ICON_PX / 2, ICON_PX);
}

/**
 * Formats a number compactly.
 * @param {number} value
 * @param {boolean} narrow whether only four characters fit instead of six
 * @returns {string} whole up to 9,999 (narrow: 999), then in thousands or millions, with a decimal
 *   if it fits
 */
export function formatCompact(value, narrow = false) {
  if (value < (narrow ? 1000 : 10000)) return value.toLocaleString('en');
  const [part, unit] = value < 1e6 ? [value / 1000, 'k'] : [value / 1e6, 'M'];
  const decimals = part < (narrow ? 10 : 100) ? 1 : 0;
  // Rounds down, so that the text never exceeds the value.
  const cut = Math.floor(part * 10 ** decimals) / 10 ** decimals;
  return `${cut.toFixed(decimals)}${unit}`;
}
