/**
 * Connection panel for the page of any game: a graph of round trips, lead, gaps and corrections,
 * switches for the features in `docs/sync.md`, and the network conditions. All values come from
 * `tickwire.js`.
 *
 * ```js
 * import { SyncPanel } from './lib/sync-panel.js';
 * const panel = new SyncPanel(game, { key: 'KeyP' });
 * const draw = (now) => { panel.draw(now); requestAnimationFrame(draw); };
 * ```
 *
 * @module lib/sync-panel
 */

import { codeOf, isTyping } from './held.js';
import { drawNetGraph } from './net-graph.js';
import { describeLane } from './lane.js';
import { fillNetemMenu } from './netem-menu.js';

const REDRAW_INTERVAL_MS = 120;
/**
 * @type {[name: 'prediction' | 'reconciliation' | 'interpolation' | 'deadReckoning', title: string,
 *   about: string][]}
 */
const SWITCHES = [
  ['prediction', 'Prediction', 'Your keys act before the server answers.'],
  ['reconciliation', 'Reconciliation', "The server's state replaces the prediction."],
  ['interpolation', 'Interpolation', 'Others move smoothly between updates.'],
  ['deadReckoning', 'Dead reckoning', 'Others move on while updates are missing.'],
];
const METRICS = [['ping', 'Round trip'], ['delay', 'Display delay'], ['lead', 'Lead'], ['corrections', 'Corrections']];

const STYLE = `
  #panel { position: fixed; z-index: 2; top: 8px; left: 8px; display: flex; flex-direction: column; width: min(300px, calc(100% - 16px)); max-height: calc(100% - 16px);
    padding: 8px 4px 10px 12px; border: 1px solid #fff3; border-radius: 12px; background: #181c22; color: #fff; font: 13px/1.3 system-ui, sans-serif; }
  #panel[hidden] { display: none; }
  #panel header { display: flex; align-items: center; padding-right: 8px; font-size: 15px; font-weight: bold; }
  #panel header button { margin-left: auto; min-width: 32px; min-height: 32px; padding: 0; border: 0; background: none; color: inherit; font-size: 18px; cursor: pointer; }
  #panel header .see-wire { margin-left: 12px; padding: 0 12px; border: 1px solid #fff8; border-radius: 99px; font-size: 13px; }
  #panel header .see-wire[hidden] { display: none; }
  #panel .body { min-height: 0; padding-right: 8px; overflow-y: auto; scrollbar-width: thin; scrollbar-color: #fff8 #fff2; }
  #panel label, #panel .row { display: grid; grid-template-columns: 1fr auto; gap: 0 10px; padding: 4px 0; border-top: 1px solid #fff2; font-weight: bold; }
  #panel small { grid-column: 1 / -1; margin: 0; color: #fffb; font-size: 12px; font-weight: normal; }
  #panel output { font-variant-numeric: tabular-nums; font-weight: normal; }
  #panel input { width: 18px; height: 18px; margin: 0; accent-color: #5f9e52; }
  #panel select { border: 0; border-radius: 6px; background: #454a53; color: #fff; font: inherit; }
  #panel canvas { position: static; display: block; width: 100%; height: 72px; border-radius: 8px; background: #0008; }
  #panel .key { display: flex; flex-wrap: wrap; gap: 0 10px; padding: 3px 0; font-size: 11px; }
  #panel .key span::before { content: ""; display: inline-block; width: 9px; height: 9px; margin-right: 4px; background: var(--is); }
  @media (max-width: 600px) { #panel { top: auto; bottom: 8px; width: calc(100% - 16px); max-height: 44%; } }
  @media (max-height: 500px) { #panel { width: min(300px, 42%); } }
`;

const MARKUP = `
  <header>Connection <button class="see-wire" type="button" hidden>See the wire</button><button id="panel-close" type="button" aria-label="Close">×</button></header>
  <div class="body">
    ${SWITCHES.map(([name, title, about]) => `<label>${title}<input id="p-${name}" type="checkbox" role="switch" checked><small>${about}</small></label>`).join('')}
    <label id="p-lane-row" hidden>Datagrams<input id="p-lane" type="checkbox" role="switch" checked><small id="p-lane-text"></small></label>
    <label id="p-net-row" hidden>Network<select id="p-net"></select><small id="p-net-text"></small></label>
    <canvas id="p-graph" role="img" aria-label="Round trip, lead, corrections and gaps between updates in the last 30 seconds"></canvas>
    <div class="key"><span style="--is:#ffd35e">Round trip</span><span style="--is:#9ad88b">Lead</span><span style="--is:#69c2dd">Gap</span><span style="--is:#ff7f6b">Correction</span></div>
    ${METRICS.map(([name, title]) => `<div class="row">${title}<output id="p-${name}"></output></div>`).join('')}
  </div>
`;

/**
 * Binds the four switches of a panel.
 * @param {(switches: Record<string, boolean>) => void} predict
 */
export function bindSwitches(predict) {
  for (const [name] of SWITCHES) {
    const field = /** @type {HTMLInputElement} */ (document.getElementById(`p-${name}`));
    field.addEventListener('change', () => {
      predict({ [name]: field.checked });
      // Returns the keyboard focus to the game.
      field.blur();
    });
  }
}

/**
 * Binds the switch of the lane.
 * @param {(isOn: boolean) => void} use
 */
export function bindLaneSwitch(use) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById('p-lane'));
  field.addEventListener('change', () => {
    use(field.checked);
    field.blur();
  });
}

/**
 * Shows the status of the lane; hides the row if it is null.
 * @param {Parameters<typeof describeLane>[0] | null} status
 */
export function showLane(status) {
  const [row, text] = ['p-lane-row', 'p-lane-text'].map((id) => /** @type {HTMLElement} */ (document.getElementById(id)));
  row.hidden = status === null;
  if (!status) return;
  text.textContent = describeLane(status);
  /** @type {HTMLInputElement} */ (document.getElementById('p-lane')).checked = status.isOn;
}

export class SyncPanel {
  /**
   * @param {import('../tickwire.js').Game<any, any>} game
   * @param {{ key?: string }} [how] `key`: code of the key that toggles the panel
   */
  constructor(game, { key } = {}) {
    this.game = game;
    /** Measurements of the connection; `tickwire.d.ts` does not declare them. */
    this.history = /** @type {typeof game & { history: import('./net-history.js').NetHistory }} */ (game).history;
    this.drawnAt = -Infinity;
    document.head.append(Object.assign(document.createElement('style'), { textContent: STYLE }));
    // The markup is constant, so `innerHTML` is safe.
    this.element = Object.assign(document.createElement('section'), { id: 'panel', hidden: true, innerHTML: MARKUP });
    this.element.setAttribute('aria-label', 'Connection');
    document.body.append(this.element);
    this.byPart('close', 'panel-').addEventListener('click', () => this.toggle());
    bindSwitches((switches) => game.setFeatures(switches));
    bindLaneSwitch((isOn) => game.useLane(isOn));
    addEventListener('keydown', (event) => {
      if (codeOf(event) === key && !event.repeat && !event.ctrlKey && !event.metaKey && !isTyping(event.target)) this.toggle();
    });
    game.netem().then((line) => {
      fillNetemMenu(/** @type {HTMLSelectElement} */ (this.byPart('net')), (text) => { this.byPart('net-text').textContent = text; }, line);
      this.byPart('net-row').hidden = false;
    }, (error) => console.warn('no simulated line:', error));
  }

  /** @param {string} name @param {string} [prefix] */
  byPart(name, prefix = 'p-') {
    return /** @type {HTMLElement} */ (document.getElementById(prefix + name));
  }

  /** Opens or closes the panel. */
  toggle() {
    this.element.hidden = !this.element.hidden;
    this.drawnAt = -Infinity;
    /** @type {HTMLElement} */ (document.activeElement)?.blur();
  }

  /** Draws the panel. Called once per frame. @param {number} [now] `performance.now()` */
  draw(now = performance.now()) {
    if (this.element.hidden || now - this.drawnAt < REDRAW_INTERVAL_MS) return;
    this.drawnAt = now;
    const { game } = this;
    const ms = (/** @type {number | null | undefined} */ time) => (time === null || time === undefined ? '–' : `${Math.round(time)} ms`);
    const { isActive, why, leadMs, corrected, compared, p99ErrorPx } = game.prediction ?? { isActive: false, why: '', leadMs: 0, corrected: 0, compared: 0, p99ErrorPx: 0 };
    this.byPart('ping').textContent = ms(game.ping);
    showLane(game.lane);
    this.byPart('delay').textContent = ms(game.interpolationDelay);
    this.byPart('lead').textContent = why === '' ? ms(isActive ? leadMs : null) : why;
    this.byPart('corrections').textContent = isActive ? `${corrected} of ${compared}, 99 % up to ${p99ErrorPx.toFixed(1)} px` : '–';
    drawNetGraph(/** @type {HTMLCanvasElement} */ (this.byPart('graph')), this.history, now);
  }
}
