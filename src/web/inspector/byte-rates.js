/**
 * Bytes per second by packet and field, averaged over the last counts of the explainer. Fields of
 * one argument are grouped.
 *
 * @module inspector/byte-rates
 */

/** Number of counts that are averaged. */
const AVERAGED_COUNTS = 4;

/**
 * @typedef {{ packet: string, from: string, count: number, bytes: number, fields: { name: string,
 *   bytes: number }[] }} Part
 * @typedef {{ name: string, bytes: number, parts: { name: string, bytes: number }[] }} Field
 * @typedef {{ packet: string, from: string, count: number, bytes: number, fields: Field[] }} Bar
 *   rates per second
 */

export class ByteRates {
  constructor() {
    /** @type {{ parts: Part[], seconds: number }[]} */
    this.counts = [];
  }

  /** Adds a count. @param {Part[]} parts @param {number} seconds duration of the count */
  add(parts, seconds) {
    this.counts.push({ parts, seconds });
    if (this.counts.length > AVERAGED_COUNTS) this.counts.shift();
  }

  clear() {
    this.counts = [];
  }

  /** Returns the averages. @returns {Bar[]} largest first */
  bars() {
    /**
     * @type {Map<string, { packet: string, from: string, count: number, bytes: number, fields:
     *   Map<string, number> }>}
     */
    const sums = new Map();
    for (const part of this.counts.flatMap((count) => count.parts)) {
      const key = `${part.from} ${part.packet}`;
      const sum = sums.get(key) ?? { packet: part.packet, from: part.from, count: 0, bytes: 0, fields: new Map() };
      sum.count += part.count;
      sum.bytes += part.bytes;
      for (const { name, bytes } of part.fields) sum.fields.set(name, (sum.fields.get(name) ?? 0) + bytes);
      sums.set(key, sum);
    }
    const seconds = this.counts.reduce((sum, count) => sum + count.seconds, 0);
    const bars = [...sums.values()].map(({ packet, from, count, bytes, fields }) => ({
      packet, from, count: count / seconds, bytes: bytes / seconds, fields: grouped(fields, seconds),
    }));
    return bars.sort((a, b) => b.bytes - a.bytes || (a.packet < b.packet ? -1 : 1));
  }
}

/**
 * Groups fields by argument: `own.x` and `own.y` belong to `own`. Keeps the order of the frame.
 * @param {Map<string, number>} fields
 * @param {number} seconds
 */
function grouped(fields, seconds) {
  /** @type {Map<string, Field>} */
  const groups = new Map();
  for (const [path, bytes] of fields) {
    const [name, ...rest] = path.split('.');
    const group = groups.get(name) ?? { name, bytes: 0, parts: [] };
    group.bytes += bytes / seconds;
    if (rest.length > 0) group.parts.push({ name: rest.join('.'), bytes: bytes / seconds });
    groups.set(name, group);
  }
  for (const group of groups.values()) group.parts.sort((a, b) => b.bytes - a.bytes);
  return [...groups.values()];
}

/** Formats a number of bytes. @param {number} bytes */
export function formatBytes(bytes) {
  if (bytes >= 10_000) return `${(bytes / 1000).toFixed(0)} kB`;
  if (bytes >= 1000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${bytes >= 10 || bytes === 0 ? bytes.toFixed(0) : bytes.toFixed(1)} B`;
}
