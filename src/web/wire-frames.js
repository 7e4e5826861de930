/**
 * The frames that the page keeps, and those of them that are wanted.
 *
 * Comes in: frames in their order, a filter. Goes out: the ones that pass it, in their order. Never: more frames than the bound;
 * the oldest go first, as they do in the explainer.
 *
 * @module wire-frames
 */

/**
 * @typedef {{ n: number, client: number, at_ms: number, tick: number, from: 'client' | 'server', line: string, opcode: string | null,
 *   packet: string | null, rule: string | null, bytes: number }} Entry
 * @typedef {{ from: '' | 'client' | 'server', wanted: string[], unwanted: string[] }} Filter
 */

/**
 * A filter from what was typed: names or parts of names, with `-` in front for what is not wanted.
 * @param {string} text @param {'' | 'client' | 'server'} from @returns {Filter}
 */
export function parseFilter(text, from) {
  const words = text.toLowerCase().split(/[\s,]+/).filter((word) => word !== '' && word !== '-');
  return { from, wanted: words.filter((word) => !word.startsWith('-')), unwanted: words.filter((word) => word.startsWith('-')).map((word) => word.slice(1)) };
}

/** Whether a frame is wanted: from there, any of the wanted words, none of the others. @param {Filter} filter @param {Entry} entry */
export function passes({ from, wanted, unwanted }, entry) {
  if (from !== '' && entry.from !== from) return false;
  const names = [entry.packet, entry.opcode, entry.rule].filter((name) => name !== null).map((name) => name.toLowerCase());
  const has = (word) => names.some((name) => name.includes(word));
  return (wanted.length === 0 || wanted.some(has)) && !unwanted.some(has);
}

/** See the module. */
export class Frames {
  /** @param {number} most frames kept */
  constructor(most) {
    this.most = most;
    this.filter = parseFilter('', '');
    /** @type {Entry[]} */
    this.all = [];
    /** Those that pass the filter. @type {Entry[]} */
    this.seen = [];
  }

  /** @param {Entry[]} entries in their order @returns {number} how many of the seen ones had to go at the front */
  add(entries) {
    this.all.push(...entries);
    this.seen.push(...entries.filter((entry) => passes(this.filter, entry)));
    if (this.all.length <= this.most) return 0;
    this.all.splice(0, this.all.length - this.most);
    const oldest = this.all[0].n;
    const gone = this.seen.findIndex((entry) => entry.n >= oldest);
    return this.seen.splice(0, gone < 0 ? this.seen.length : gone).length;
  }

  /** @param {Filter} filter */
  setFilter(filter) {
    this.filter = filter;
    this.seen = this.all.filter((entry) => passes(filter, entry));
  }

  clear() {
    this.all = [];
    this.seen = [];
  }

  /** The place of a frame among the seen ones; -1 if it is not there. @param {number} n */
  placeOf(n) {
    let [low, high] = [0, this.seen.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.seen[middle].n === n) return middle;
      if (this.seen[middle].n < n) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  /**
   * The seen frame so many places away from one; from one that is not seen, the nearest newer one counts as its place.
   * @param {number} n @param {number} by @returns {Entry | undefined}
   */
  beside(n, by) {
    if (this.seen.length === 0) return undefined;
    const place = this.placeOf(n);
    const next = this.seen.findIndex((entry) => entry.n > n);
    const from = place >= 0 ? place : next < 0 ? this.seen.length : next;
    return this.seen[Math.min(Math.max(from + by, 0), this.seen.length - 1)];
  }
}
