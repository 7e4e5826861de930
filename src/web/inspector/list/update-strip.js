/**
 * Strip of updates, with a bar for each update. The height of a bar is the gap before the update. A
 * large gap has another colour, unless no update was due. A press on a bar selects the frame.
 *
 * @module inspector/list/update-strip
 */

import { milliseconds } from './duration.js';
import { WaitStrip, clearedPen } from './wait-strip.js';

const byId = /** @type {import('../elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/** Width of a bar with its space, px. */
const BAR_PX = 4;
/** A gap above this multiple of the normal gap is large. */
const LARGE_GAP_FACTOR = 1.6;
/**
 * Multiple of the normal gap at which a bar has the full height. Larger gaps have the same height.
 */
const MAX_GAP_FACTOR = 3;

/**
 * @typedef {[number, number, number | null, number, number, (number | null)?, boolean?]} Update
 *   frame number, time, gap before it, bytes, ticks since the previous update; for a datagram also
 *   the time for which a stream would have held it, and whether it is lost
 */
/**
 * @typedef {{ packet?: string, normal_ms?: number | null, updates?: Update[], hasTicks?: boolean }}
 *   Timeline `packet`: the state packet that counts as the update; `hasTicks`: whether the room's
 *   ticks are known, as for a live client
 */

/**
 * Returns the median of the ticks between updates; 0 if they are unknown.
 * @param {Timeline} timeline
 */
function normalTicks({ updates = [], hasTicks }) {
  const ticks = updates.filter(([, , gap]) => gap !== null).map(([, , , , count]) => count).sort((a, b) => a - b);
  return hasTicks ? ticks[Math.floor(ticks.length / 2)] ?? 0 : 0;
}

/**
 * Classifies the gap before an update: `normal`; `large` if the server was late; `silence` if the
 * room ticked without sending an update, because nothing changed or the client did not read.
 * @param {Update} update
 * @param {Timeline} timeline
 * @returns {'normal' | 'large' | 'silence' | 'unknown'}
 */
export function kindOf([, , gap, , ticks], timeline) {
  const normal = timeline.normal_ms ?? 0;
  if (gap === null || normal === 0) return 'unknown';
  if (gap <= LARGE_GAP_FACTOR * normal) return 'normal';
  const usual = normalTicks(timeline);
  return usual > 0 && ticks / usual > gap / normal / LARGE_GAP_FACTOR ? 'silence' : 'large';
}

/**
 * Names the cause of a gap that is larger than usual; '' for a normal gap, and in a capture, which
 * has no ticks.
 * @param {Update} update
 * @param {Timeline} timeline
 */
export function causeOf(update, timeline) {
  const kind = kindOf(update, timeline);
  const [, , , , ticks] = update;
  if (kind === 'silence') return ` and ${ticks} ticks, in which nothing changed for the client or it did not read`;
  return kind === 'large' && timeline.hasTicks ? ', because the tick of the room was late' : '';
}

/** Describes the strip. @param {Timeline} timeline */
export function describe(timeline) {
  const { packet, normal_ms, updates = [] } = timeline;
  const known = updates.filter(([, , gap]) => gap !== null);
  if (packet === undefined) return 'No state packet yet';
  const name = packet === 'update' ? 'Update' : packet;
  if (normal_ms === null || normal_ms === undefined || known.length < 2) return `${name}: too few for an interval`;
  /** @param {string[]} wanted */
  const gapsOf = (wanted) => known.filter((update) => wanted.includes(kindOf(update, timeline))).map(([, , gap]) => gap ?? 0);
  const [gaps, large, silences] = [gapsOf(['normal', 'large']), gapsOf(['large']), gapsOf(['silence'])];
  const jitter = gaps.reduce((sum, gap) => sum + Math.abs(gap - normal_ms), 0) / gaps.length;
  const words = [`${name} every ${milliseconds(normal_ms)}`, `jitter ${milliseconds(jitter)}`, `longest gap ${milliseconds(Math.max(...gaps))}`];
  if (large.length > 0) words.push(`${large.length} large gap${large.length === 1 ? '' : 's'}${timeline.hasTicks ? `: late tick${large.length === 1 ? '' : 's'}` : ''}`);
  if (silences.length > 0) words.push(`no update was due ${silences.length === 1 ? 'once' : `${silences.length} times`}, at most for ${milliseconds(Math.max(...silences))}`);
  return words.join(' · ');
}

/**
 * Returns the height of a bar, 0 to 1, and the kind of its gap.
 * @param {Update} update
 * @param {Timeline} timeline
 */
export function barOf(update, timeline) {
  const kind = kindOf(update, timeline);
  const [, , gap] = update;
  if (kind === 'unknown' || kind === 'silence') return { height: 0.1, kind };
  return { height: Math.min(1, Math.max(0.06, (gap ?? 0) / (timeline.normal_ms ?? 1) / MAX_GAP_FACTOR)), kind };
}

export class UpdateStrip {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement} words
   * @param {(n: number) => void} onPick
   */
  constructor(canvas, words, onPick) {
    this.canvas = canvas;
    this.words = words;
    this.onPick = onPick;
    /** @type {Timeline} */
    this.timeline = {};
    this.chosen = 0;
    this.waits = new WaitStrip(byId('lane-strip'), byId('waits'), byId('waits-words'), byId('waits-rule'), (index) => this.pick(index), BAR_PX);
    canvas.addEventListener('pointerdown', (event) => this.pick(Math.floor(event.offsetX / BAR_PX)));
    canvas.addEventListener('pointermove', (event) => this.point(Math.floor(event.offsetX / BAR_PX)));
    canvas.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const updates = this.timeline.updates ?? [];
      const index = updates.findIndex(([n]) => n >= this.chosen);
      const from = index < 0 ? updates.length : updates[index][0] === this.chosen || step < 0 ? index : index - 1;
      this.pick(Math.min(Math.max(from + step, 0), updates.length - 1));
    });
  }

  /** Number of bars that fit. */
  get capacity() {
    return Math.max(1, Math.floor(this.canvas.clientWidth / BAR_PX));
  }

  /** @param {number} index */
  pick(index) {
    const update = this.timeline.updates?.[index];
    if (update) this.onPick(update[0]);
  }

  /** @param {number} index */
  point(index) {
    const update = this.timeline.updates?.[index];
    if (!update) {
      this.canvas.title = '';
      return;
    }
    const [n, , gap, bytes] = update;
    this.canvas.title = `Frame ${n}: ${gap === null ? 'after a gap in the list' : `${milliseconds(gap)} after the one before${causeOf(update, this.timeline)}`}, ${bytes} bytes`;
  }

  /**
   * Shows the updates. A capture and a link without updates have no strip.
   * @param {Timeline} timeline
   * @param {number} chosen selected frame
   */
  show(timeline, chosen) {
    Object.assign(this, { timeline, chosen });
    byId('strip').hidden = timeline.packet === undefined && timeline.hasTicks === false;
    const words = describe(timeline);
    if (this.words.textContent !== words) this.words.textContent = words;
    this.canvas.setAttribute('aria-label', `${words}. Arrow keys go through the updates.`);
    this.waits.show(timeline.updates ?? [], chosen);
    this.draw();
  }

  draw() {
    const { pen, width, height, color } = clearedPen(this.canvas);
    pen.fillStyle = color('--edge');
    pen.fillRect(0, Math.round(height * (1 - 1 / MAX_GAP_FACTOR)), width, 1);
    (this.timeline.updates ?? []).forEach((update, index) => {
      const { height: part, kind } = barOf(update, this.timeline);
      const high = Math.max(2, Math.round(part * height));
      pen.fillStyle = color(update[0] === this.chosen ? '--amber' : kind === 'large' ? '--red' : kind === 'normal' ? '--length' : '--edge');
      pen.fillRect(index * BAR_PX, height - high, BAR_PX - 1, high);
    });
  }
}
