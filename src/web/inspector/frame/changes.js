/**
 * Table of the values that changed since the previous frame of the same packet.
 *
 * @module inspector/frame/changes
 */

import { element } from './bit-diagram.js';

/** @typedef {ReturnType<import('../explainer.js').Explainer['difference']>} Difference */

/** Returns the heading. @param {Difference} diff @param {string} packet */
export function changesHeading({ count, same }, packet) {
  if (count === undefined || same === undefined) return '';
  const of = count + same;
  return `Since the previous ${packet}: ${count === 0 ? 'nothing has changed' : `${count} of ${of} value${of === 1 ? '' : 's'} changed`}`;
}

/** Shortens a value to the text after its last ` = `. @param {string} value */
const short = (value) => value.split(' = ').at(-1) ?? value;

/**
 * Returns the rows: path, value before, value after.
 * @param {Difference} diff
 * @returns {HTMLElement[]}
 */
export function changeRows({ changed = [], count = 0 }) {
  const all = changed.map(({ path, before, after }) => {
    const row = document.createElement('div');
    row.append(element('path', path), element(before === null ? 'none' : 'before', before === null ? 'not there' : short(before)), element('to', '→'),
      element(after === null ? 'none' : 'after', after === null ? 'not there' : short(after)));
    row.title = `${path}: ${before ?? 'not there'} → ${after ?? 'not there'}`;
    return row;
  });
  if (count > changed.length) all.push(element('more', `${count - changed.length} more`));
  return all;
}

/**
 * Shows the changes of a frame. The table is hidden if there is no earlier frame of the packet.
 * @param {import('../explainer.js').Explainer} explainer
 * @param {number} n
 * @param {string | null} packet
 */
export function showChanges(explainer, n, packet) {
  const diff = packet ? explainer.difference(n) : {};
  const box = /** @type {HTMLElement} */ (document.getElementById('changes'));
  box.hidden = diff.count === undefined;
  /** @type {Element} */ (box.firstElementChild).textContent = changesHeading(diff, packet ?? '');
  /** @type {Element} */ (box.lastElementChild).replaceChildren(...changeRows(diff));
}
