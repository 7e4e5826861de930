/**
 * The frames of a list that are seen: a window onto what the explainer keeps, which may be a million of them.
 *
 * Only the rows in sight are ever asked for; filters and places are the explainer's.
 *
 * @module inspector/list/frames
 */

/**
 * @typedef {{ n: number, client: number, at_ms: number, tick: number, from: 'client' | 'server', opcode: string | null, packet: string | null,
 *   rule: string | null, bytes: number, line?: string, pair?: number, rtt_ms?: number, gap?: string, injected?: boolean, where?: string }} Entry
 *   `tick` of a capture is the number of its packet; `where` says so in words
 */

/** Rows that are asked for at once, around those in sight. */
const FETCH_ROWS = 120;

/** See the module. */
export class VisibleFrames {
  /** @param {import('../explainer.js').Explainer} explainer */
  constructor(explainer) {
    this.explainer = explainer;
    this.visible = 0;
    this.all = 0;
    /** Why none is seen. */
    this.why = '';
    this.first = 0;
    /** @type {Entry[]} */
    this.rows = [];
  }

  /** Looks into another explainer. @param {import('../explainer.js').Explainer} explainer */
  use(explainer) {
    this.explainer = explainer;
    this.refresh();
  }

  /** Something came, went or was filtered. */
  refresh() {
    const { all, seen, why } = this.explainer.count();
    Object.assign(this, { all, visible: seen, why: why ?? '', rows: [] });
  }

  /** The seen frames of these places. @param {number} first @param {number} last the one behind the last @returns {Entry[]} */
  between(first, last) {
    if (first < this.first || last > this.first + this.rows.length) {
      this.first = Math.max(0, first - Math.max(0, Math.floor((FETCH_ROWS - (last - first)) / 2)));
      this.rows = this.explainer.rows(this.first, Math.max(FETCH_ROWS, last - this.first));
    }
    return this.rows.slice(first - this.first, last - this.first);
  }

  /** The seen frame at a place. @param {number} place @returns {Entry | undefined} */
  at(place) {
    return place < 0 || place >= this.visible ? undefined : this.between(place, place + 1)[0];
  }

  /** The newest that is seen. @returns {Entry | undefined} */
  get newest() {
    return this.at(this.visible - 1);
  }

  /** The place of a frame among the seen ones; -1 if it is not there. @param {number} n */
  indexOf(n) {
    return Math.max(-1, this.explainer.place(n));
  }

  /**
   * The seen frame so many places away from one; from one that is not seen, the nearest newer one counts as its place.
   * @param {number} n @param {number} by @returns {Entry | undefined}
   */
  neighbor(n, by) {
    const place = this.explainer.place(n);
    const from = place >= 0 ? place : -1 - place;
    return this.at(Math.min(Math.max(from + by, 0), this.visible - 1));
  }
}

/**
 * The place of the last of some rows that is not later than a time; -1 if all are later.
 * @param {number} count @param {(place: number) => number} msAt @param {number} ms
 */
export function lastBefore(count, msAt, ms) {
  let [from, to] = [0, count];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (msAt(middle) <= ms) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}
