/**
 * Keyboard shortcuts. Keys in a field or a menu are ignored.
 *
 * @module inspector/keys
 */

import { isComposing } from '../lib/held.js';

/**
 * Number of lines by which a key moves the selection in the list.
 * @type {Readonly<Record<string, number | undefined>>}
 */
const STEPS = { ArrowUp: -1, ArrowDown: 1, PageUp: -20, PageDown: 20 };

/**
 * Listens to the keys of the page.
 * @param {(by: number) => void} move moves the selection by a number of lines
 * @param {Record<string, () => void>} actions by key; `Escape` also leaves a field
 * @param {(event: KeyboardEvent) => void} otherwise called for other keys
 */
export function listenToKeys(move, actions, otherwise) {
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.altKey || event.metaKey || isComposing(event)) return;
    if (event.key === 'Escape') {
      actions.Escape();
      target.blur();
      return;
    }
    if (target.closest('input, select, textarea, [role=menu]')) return;
    const step = STEPS[event.key];
    const action = actions[event.key];
    // A space on a button presses it.
    if (event.key === ' ' && target.closest('button, summary')) return;
    if (step === undefined && !action) return otherwise(event);
    if (step !== undefined) move(step);
    else action();
    event.preventDefault();
  });
}
