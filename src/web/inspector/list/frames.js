/**
 * Visible frames of a list: a window onto the frames of the explainer, up to a million. Only rows
 * in view are fetched; the explainer filters and indexes.
 *
 * @module inspector/list/frames
 */

/**
 * @typedef {{ n: number, client: number, at_ms: number, tick: number, from: 'client' | 'server',
 *   opcode: string | null, packet: string | null, rule: string | null, bytes: number, line?:
 *   string, pair?: number, rtt_ms?: number, gap?: string, injected?: boolean, where?: string,
 *   mark?: { name: string, ms?: number, copies?: number }, compressed?: number, inflated?: number,
 *   datagram?: import('./datagram-row.js').Datagram }}
 *   Entry `tick`: in a capture, the number of the packet; `where`: description of the tick or
 *   packet; `mark`: what a proxy did; `compressed`: bytes of the compressed message,
 *   whose frame is shown inflated; `inflated`: bytes of the message of a compressed frame
 */

/** Number of rows that are fetched at once, around the rows in view. */
const FETCH_ROWS = 120;

/** Window onto the visible frames. */
export class VisibleFrames {
  /** @param {import('../explainer.js').Explainer} explainer */
  constructor(explainer) {
    this.explainer = explainer;
    this.visible = 0;
    this.all = 0;
    /** Reason why no frame is visible. */
    this.why = '';
    this.first = 0;
    /** @type {Entry[]} */
    this.rows = [];
  }

  /** Switches to another explainer. @param {import('../explainer.js').Explainer} explainer */
  use(explainer) {
    this.explainer = explainer;
    this.refresh();
  }

  /** Refreshes the counts and drops the fetched rows. */
  refresh() {
    const { all, seen, why } = this.explainer.count();
    Object.assign(this, { all, visible: seen, why: why ?? '', rows: [] });
  }

  /**
   * Returns the visible frames of an index range.
   * @param {number} first
   * @param {number} last exclusive
   * @returns {Entry[]}
   */
  between(first, last) {
    if (first < this.first || last > this.first + this.rows.length) {
      this.first = Math.max(0, first - Math.max(0, Math.floor((FETCH_ROWS - (last - first)) / 2)));
      this.rows = this.explainer.rows(this.first, Math.max(FETCH_ROWS, last - this.first));
    }
    return this.rows.slice(first - this.first, last - this.first);
  }

  /** Returns the summary line of a frame and the values of its packet. @param {number} n */
  lineOf(n) {
    return this.explainer.lineOf(n);
  }

  /** Returns the visible frame at an index. @param {number} index @returns {Entry | undefined} */
  at(index) {
    return index < 0 || index >= this.visible ? undefined : this.between(index, index + 1)[0];
  }

  /** Newest visible frame. @returns {Entry | undefined} */
  get newest() {
    return this.at(this.visible - 1);
  }

  /** Returns the index of a frame; -1 if it is not visible. @param {number} n */
  indexOf(n) {
    return Math.max(-1, this.explainer.indexOf(n));
  }

  /**
   * Returns the visible frame at a distance from frame `n`. If frame `n` is not visible, the
   * distance is counted from the next newer visible frame.
   * @param {number} n
   * @param {number} by
   * @returns {Entry | undefined}
   */
  neighbor(n, by) {
    const index = this.explainer.indexOf(n);
    const from = index >= 0 ? index : -1 - index;
    return this.at(Math.min(Math.max(from + by, 0), this.visible - 1));
  }
}

/**
 * Returns the index of the last row that is not later than a time; -1 if all are later.
 * @param {number} count
 * @param {(place: number) => number} msAt returns the time of a row, ms
 * @param {number} ms
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
