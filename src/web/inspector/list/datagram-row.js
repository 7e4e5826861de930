/**
 * Texts for a datagram of a lane, in the list and in the frame view.
 *
 * @module inspector/list/datagram-row
 */

import { milliseconds } from './duration.js';

/**
 * @typedef {{ sequence: number, acks: number | null, packets: string,
 *   state: null | 'late' | 'lost' | 'unconfirmed' | 'dropped', acked_ms?: number, late_ms?: number,
 *   wait_ms?: number }} Datagram `acks`: newest datagram of the other side that it acknowledges;
 *   `wait_ms`: time for which a stream would have held it
 */
/** @typedef {import('./frames.js').Entry} Entry */

/** Waits below this are not shown, ms. */
const MIN_WAIT_MS = 0.5;

/** Rule by which the wait is computed. */
export const WAIT_RULE = 'A stream delivers segments in order: after a missing segment, all later ones wait for it. A late segment ends the wait when it arrives. '
  + 'A lost segment is retransmitted, and arrives at least one round trip after the first later segment (often later on a real stream). '
  + 'The round trip is the shortest one observed, from a datagram of the server to its acknowledgement. '
  + 'Late datagrams of the server have no wait, because their arrival times at the client are unknown.';

/** Short form of the rule. */
const SHORT_RULE = 'until it arrives late, or is retransmitted and arrives one round trip after the first later segment.';

/** Returns the number of a datagram in its row. @param {Datagram} datagram */
export const numberOf = ({ sequence }) => `D${sequence}`;

/**
 * Returns the packets of a datagram, or the rule that it breaks.
 * @param {Datagram} datagram
 * @param {string | null} rule
 */
export const contentOf = ({ packets }, rule) => (rule ? ruleOf(rule) : packets || 'acknowledgement');

/** Formats a duration for a row. @param {number} ms */
const short = (ms) => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;

/** Returns the name of a rule in words. @param {string} rule */
const ruleOf = (rule) => rule.replace(/^datagram_/, '').replaceAll('_', ' ');

/**
 * Returns the time for which a stream would have held a datagram, ms; 0 if it is below the minimum.
 * @param {Datagram} datagram
 */
export const waitOf = ({ wait_ms = 0 }) => (wait_ms >= MIN_WAIT_MS ? wait_ms : 0);

/**
 * Returns the short facts of a row: outcome and wait, or else the acknowledged number. The tooltip
 * has all facts.
 * @param {Datagram} datagram
 * @returns {string[]}
 */
export function factsOf(datagram) {
  const { state, late_ms, acks } = datagram;
  const facts = [];
  if (state) facts.push(state === 'late' && late_ms !== undefined ? `late ${short(late_ms)}` : state);
  if (waitOf(datagram) > 0) facts.push(`stream +${short(waitOf(datagram))}`);
  if (facts.length === 0 && acks !== null) facts.push(`✓${acks}`);
  return facts;
}

/**
 * Describes the outcome of a datagram.
 * @param {Entry & { datagram: Datagram }} entry
 */
export function fateOf({ datagram, from, rule }) {
  const { state, acked_ms, late_ms } = datagram;
  if (state === 'late' && late_ms !== undefined) return `Late: it arrived ${milliseconds(late_ms)} after a newer one.`;
  if (state === 'late') return from === 'client' ? 'Late: it arrived after a newer one.' : 'Late: the client had a newer one first.';
  if (state === 'lost') return 'Lost: the client has acknowledged 33 newer ones, but never this one.';
  if (state === 'unconfirmed') return 'Unconfirmed: no acknowledgement with a bit for it has arrived.';
  if (state === 'dropped') return rule === 'datagram_repeated' ? 'Repeated: it had arrived before, so the server dropped it unopened.' : 'The server dropped it.';
  if (from === 'client') return 'It arrived in order.';
  return acked_ms === undefined ? 'Not acknowledged yet.' : `The client acknowledged it after ${milliseconds(acked_ms)}.`;
}

/**
 * Describes the wait of a datagram on a stream; empty without a wait.
 * @param {Datagram} datagram
 */
export function waitText(datagram) {
  const wait = waitOf(datagram);
  return wait === 0 ? '' : `On a stream it would have waited about ${milliseconds(wait)} for a missing segment, ${SHORT_RULE}`;
}

/**
 * Describes a datagram for a tooltip.
 * @param {Entry & { datagram: Datagram }} entry
 */
export function titleOf(entry) {
  const { datagram, from } = entry;
  const acks = datagram.acks === null ? 'acknowledges none' : `acknowledges up to ${datagram.acks}`;
  return [`Datagram ${datagram.sequence} from the ${from}, ${acks}: ${contentOf(datagram, entry.rule)}.`, fateOf(entry), waitText(datagram)].filter(Boolean).join(' ');
}
