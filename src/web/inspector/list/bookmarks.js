/**
 * Bookmarks on frames. Each source of frames has its own bookmarks.
 *
 * @module inspector/list/bookmarks
 */

import { milliseconds } from './duration.js';

const byId = /** @type {import('../elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/**
 * Returns the next bookmark in a direction, wrapping around; undefined without bookmarks.
 * @param {number[]} marks
 * @param {number} from frame number
 * @param {number} step 1 or -1
 * @returns {number | undefined}
 */
export function nextMark(marks, from, step) {
  const inOrder = [...marks].sort((a, b) => step * (a - b));
  return inOrder.find((n) => step * (n - from) > 0) ?? inOrder[0];
}

export class Bookmarks {
  /**
   * @param {() => { marks: Set<number>, explainer: import('../explainer.js').Explainer }} shown
   * @param {import('./list.js').FrameListView} list
   * @param {{ goTo: (n: number) => void, notify: (words: string) => void }} on
   */
  constructor(shown, list, on) {
    this.shown = shown;
    this.list = list;
    this.on = on;
    list.isMarked = (n) => shown().marks.has(n);
    byId('mark').onclick = () => this.toggle();
    byId('mark-next').onclick = () => this.go(1);
    byId('mark-previous').onclick = () => this.go(-1);
  }

  /** Shows whether the selected frame has a bookmark. */
  show() {
    byId('mark').setAttribute('aria-pressed', String(this.shown().marks.has(this.list.chosen)));
  }

  /** Toggles the bookmark of the selected frame. */
  toggle() {
    const { marks } = this.shown();
    const n = this.list.chosen;
    if (n === 0) return this.on.notify('Choose a frame first');
    const isMarked = !marks.delete(n);
    const other = isMarked ? this.last() : undefined;
    if (isMarked) marks.add(n);
    this.show();
    this.list.draw();
    if (!isMarked) return this.on.notify(`Frame ${n} is no longer marked`);
    this.on.notify(other === undefined ? `Frame ${n} is marked; [ and ] go through the marks` : `Frame ${n} is marked, ${this.distance(n, other)}`);
  }

  /** Returns the mark that was set last and is still in the list. */
  last() {
    const { marks, explainer } = this.shown();
    return [...marks].reverse().find((n) => !explainer.entry(n).gone);
  }

  /** Describes the time between two frames. @param {number} n @param {number} other */
  distance(n, other) {
    const { explainer } = this.shown();
    const [at, before] = [n, other].map((frame) => explainer.entry(frame).at_ms ?? 0);
    const ms = at - before;
    return `${milliseconds(Math.abs(ms))} ${ms < 0 ? 'before' : 'after'} the mark on frame ${other}`;
  }

  /** Selects the next or the previous bookmark. @param {number} step 1 or -1 */
  go(step) {
    const { marks, explainer } = this.shown();
    const next = nextMark([...marks].filter((n) => !explainer.entry(n).gone), this.list.chosen, step);
    if (next === undefined) return this.on.notify('No frame is marked: choose one and press B');
    const from = this.list.chosen;
    this.on.goTo(next);
    if (explainer.indexOf(next) < 0) return this.on.notify(`Frame ${next} is hidden by the filter`);
    if (next === from) this.on.notify('No other frame is marked');
    else if (marks.has(from)) this.on.notify(`Frame ${next}: ${this.distance(next, from)}`);
  }
}
