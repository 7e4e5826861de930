/**
 * Panel of a page in lockstep: tick and delay of its world, agreement with the server, and traffic
 * compared with the traffic of a stream. A button changes a field of the world to demonstrate a
 * desync report.
 *
 * @module game/hud/lockstep-panel
 */

import { byId, onButton, setText } from './dom.js';
import { withQueryParam } from '../../lib/netem-menu.js';
import { TrafficRates } from '../net/rates.js';

const REDRAW_INTERVAL_MS = 200;
/** Number of participants that a sentence names if there are too many to name all. */
const NAMED = 3;

/** @param {string | null} value */
const formatValue = (value) => value ?? 'nothing';

/** @param {number} count @param {string} what */
const pluralize = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** @param {number} perSecond */
const bytes = (perSecond) => (perSecond < 1000 ? `${Math.round(perSecond)} B/s` : `${(perSecond / 1000).toFixed(1)} kB/s`);

/**
 * Joins names to a list for a sentence. A long list ends with the number of the other names.
 * @param {string[]} names
 */
export function joinNames(names) {
  const all = names.length > NAMED + 1 ? [...names.slice(0, NAMED), pluralize(names.length - NAMED, 'other')] : names;
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all[all.length - 1]}`;
}

/**
 * Describes the events since the button was pressed or since the last desync report, one sentence
 * each.
 * @param {import('../../lib/lockstep.js').Status} status
 * @param {{ asked: boolean, checksums: number | null }} since `asked`: whether the button was
 *   pressed and no field has changed yet; `checksums`: number of checksums sent since the report;
 *   null without a report
 */
export function describeEvents({ corrupted, report }, { asked, checksums }) {
  const lines = [];
  if (asked) return ['At its next checksum this page changes a field of its own world.'];
  if (corrupted && (!report || report.tick <= corrupted.tick)) {
    const { tick, entity, field, before, after } = corrupted;
    lines.push(`Tick ${tick}: this page has changed ${field} of ${entity} from ${formatValue(before)} to ${formatValue(after)}.`);
  }
  if (!report || (corrupted && report.tick < corrupted.tick)) return lines;
  // The lines of the fields come first, because the list may be longer than the panel.
  for (const { participant, entity, field, server, own } of report.fields) {
    lines.unshift(`${entity}, ${field}: ${formatValue(server)} on the server, ${formatValue(own)} with ${participant}.`);
  }
  const [[expected, agreeing], ...others] = report.groups;
  /** @param {string[]} names */
  const has = (names) => `${joinNames(names)} ${names.length === 1 ? 'has' : 'have'}`;
  const who = others.map(([checksum, names]) => `${has(names)} the checksum ${checksum}`);
  const right = has(agreeing.map((name) => (name === 'server' ? 'the server' : name)));
  lines.push(`The server reports tick ${report.tick}: ${who.join('; ')}; ${right} ${expected}.`);
  if (checksums !== null) lines.push(`The world has begun again from a snapshot${checksums > 0 ? `, and the server has objected to none of ${pluralize(checksums, 'checksum')} since` : ''}.`);
  return lines;
}

export class LockstepPanel {
  /**
   * @param {import('../../lib/lockstep.js').Lockstep | null} lockstep null without lockstep
   * @param {import('../net/connection.js').GameConnection} connection
   * @param {import('../world/world.js').World} world
   */
  constructor(lockstep, connection, world) {
    this.lockstep = lockstep;
    this.connection = connection;
    this.world = world;
    this.rates = new TrafficRates();
    this.drawnAt = 0;
    /**
     * Tick of the previous change when the button was pressed, null if there was none; undefined
     * while no press is pending.
     * @type {number | null | undefined}
     */
    this.asked = undefined;
    /**
     * Tick of the last desync report, and the checksums sent before it.
     * @type {{ tick: number, checksums: number } | null}
     */
    this.newestReport = null;
    this.why = '';
    const link = /** @type {HTMLAnchorElement} */ (byId('p-mode'));
    link.href = withQueryParam(location.search, 'mode', lockstep ? null : 'mode=lockstep') || location.pathname;
    link.textContent = lockstep ? 'follow as a stream' : 'run it in this page';
    setText('p-mode-text', lockstep ? 'This page runs the whole world itself, in lockstep.' : 'The server tells this page what is in view.');
    byId('p-lockstep').hidden = !lockstep;
    if (!lockstep) return;
    onButton('p-lockstep', () => this.show(true));
    onButton('lockstep-close', () => this.show(false));
    onButton('l-corrupt', () => this.corrupt());
    this.show(true);
  }

  get isOpen() {
    return !byId('lockstep').hidden;
  }

  /** Shows this panel instead of the connection panel. @param {boolean} isOpen */
  show(isOpen) {
    byId('lockstep').hidden = !isOpen;
    if (isOpen && !byId('panel').hidden) byId('panel-close').click();
    this.drawnAt = 0;
  }

  /** Changes a field of this page's world. */
  corrupt() {
    this.asked = this.lockstep?.status()?.corrupted?.tick ?? null;
    this.lockstep?.corrupt(Math.floor(Math.random() * 2 ** 32));
  }

  /** @param {number} nowMs */
  draw(nowMs) {
    const { lockstep } = this;
    if (!lockstep) return;
    this.rates.count(lockstep.counts, nowMs);
    if (!this.isOpen || nowMs - this.drawnAt < REDRAW_INTERVAL_MS) return;
    this.drawnAt = nowMs;
    // The connection panel occupies the same place.
    if (!byId('panel').hidden) return this.show(false);
    const status = lockstep.isActive ? lockstep.status() : null;
    setText('l-why', lockstep.fallbackReason);
    byId('l-why').hidden = lockstep.fallbackReason === '';
    byId('l-figures').hidden = byId('l-deeds').hidden = lockstep.fallbackReason !== '';
    /** @type {HTMLButtonElement} */ (byId('l-corrupt')).disabled = !status?.tick;
    if (status) this.fill(status);
  }

  /** @param {import('../../lib/lockstep.js').Status} status */
  fill(status) {
    const { lockstep, connection, world, rates } = this;
    const isReady = status.tick !== null;
    const delay = connection.pingMs === null || !lockstep ? null : connection.pingMs / 2 + lockstep.jitterMs(world.tickHz);
    setText('l-tick', isReady ? String(status.tick) : '–');
    setText('l-delay', isReady && delay !== null ? `${delay < 10 ? delay.toFixed(1) : Math.round(delay)} ms` : '–');
    setText('l-differed', `${status.differed} of ${status.checksums}`);
    setText('l-syncs', String(status.syncs));
    setText('l-in', bytes(rates.perSecond.bytesIn ?? 0));
    setText('l-stream', bytes(rates.perSecond.bytesStream ?? 0));
    if (this.asked !== undefined && (status.corrupted?.tick ?? null) !== this.asked) this.asked = undefined;
    if (status.report && status.report.tick !== this.newestReport?.tick) this.newestReport = { tick: status.report.tick, checksums: status.checksums };
    const checksums = this.newestReport && status.differed > 0 ? status.checksums - this.newestReport.checksums : null;
    this.showLines(describeEvents(status, { asked: this.asked !== undefined, checksums }));
  }

  /** @param {string[]} lines */
  showLines(lines) {
    const list = byId('l-story');
    if (list.childElementCount === lines.length && lines.every((line, at) => list.children[at].textContent === line)) return;
    list.replaceChildren(...lines.map((line) => Object.assign(document.createElement('li'), { textContent: line })));
    list.hidden = lines.length === 0;
  }
}
