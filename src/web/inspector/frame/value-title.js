/**
 * Tooltips of values, which explain their units.
 *
 * @module inspector/frame/value-title
 */

/** Meanings of the units, as in src/packet/grammar.rs. @type {Readonly<Record<string, string>>} */
export const UNITS = {
  hpx: 'Half pixels.',
  fix4: '1/16 pixel.',
  fix16: '1/65,536 pixel.',
  turn16: '1/65,536 of a turn; 0 is right, a quarter is down.',
  turn8: '1/256 of a turn; 0 is right, a quarter is down.',
  tick: 'Ticks of the world.',
};

/** Meaning of a missing value. */
const NIL = 'nil is the "no value" of MessagePack, as null in JSON.';

/** Returns the tooltip of a value: the value, and the meaning of its unit. @param {string} value */
export function titleOf(value) {
  if (value === 'nil') return NIL;
  const [, unit = ''] = /^-?[\d.]+ (\w+)/.exec(value) ?? [];
  return Object.hasOwn(UNITS, unit) ? `${value}\n${unit}: ${UNITS[unit]}` : value;
}
