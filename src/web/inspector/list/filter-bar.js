/**
 * The filter above the list: what is typed, the buttons beside it, and what is wrong with it.
 *
 * The text is read by the explainer, which also says why nothing passes. A wrong filter leaves the one before in force.
 *
 * @module inspector/list/filter-bar
 */

import { isComposing } from '../../lib/held.js';

/** How long after a key the filter is applied. */
const TYPING_MS = 120;

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/**
 * A filter with signs below its wrong part.
 * @param {string} text @param {{ begin?: number, end?: number }} result
 */
export function underline(text, { begin = 0, end = 0 }) {
  return `${text.replace(/\s/g, ' ')}\n${' '.repeat(begin)}${'^'.repeat(Math.max(1, end - begin))}`;
}

/** Words in which what is between backticks is code. @param {string} words @returns {(string | HTMLElement)[]} */
export function withCode(words) {
  return words.split('`').map((part, at) => {
    if (at % 2 === 0) return part;
    const code = document.createElement('code');
    code.textContent = part;
    return code;
  });
}

/** Says why the list is empty. @param {import('./frames.js').VisibleFrames} frames */
export function showEmptyReason(frames) {
  const isEmpty = frames.visible === 0 && frames.why !== '';
  byId('why').hidden = !isEmpty;
  byId('list').hidden = isEmpty;
  if (!isEmpty || byId('why').dataset.why === frames.why) return;
  byId('why').dataset.why = frames.why;
  byId('why').replaceChildren(...withCode(frames.why));
}

export class FilterBar {
  /** @param {(isTyped: boolean) => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.from = /** @type {'' | 'client' | 'server'} */ ('');
    this.isAutomatic = true;
    this.timer = 0;
    byId('filter').addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.onChange(true), TYPING_MS);
    });
    byId('from').onclick = (event) => { if (event.target.dataset.from !== undefined) this.setFrom(event.target.dataset.from); };
    byId('automatic').onclick = () => this.setAutomatic(!this.isAutomatic);
    const closeHelp = () => { byId('filter-help').open = false; };
    document.addEventListener('pointerdown', (event) => { if (!byId('filter-help').contains(event.target)) closeHelp(); });
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !isComposing(event)) closeHelp(); });
  }

  /** What the explainer is asked for. @param {number | null} client */
  request(client) {
    return { text: byId('filter').value, from: this.from, client, automatic: this.isAutomatic };
  }

  /** @param {string} text */
  set(text) {
    byId('filter').value = text;
    this.onChange(true);
  }

  /** Asks for everything: what was asked of the frames before says nothing of those of a capture. */
  showAll() {
    byId('filter').value = '';
    this.setAutomatic(true);
    this.setFrom('');
  }

  /** @param {'' | 'client' | 'server'} from */
  setFrom(from) {
    this.from = from;
    for (const button of byId('from').children) button.setAttribute('aria-pressed', String(button.dataset.from === from));
    this.onChange(false);
  }

  /** Whether pings and pongs are shown. @param {boolean} isAutomatic */
  setAutomatic(isAutomatic) {
    this.isAutomatic = isAutomatic;
    byId('automatic').setAttribute('aria-pressed', String(!isAutomatic));
    this.onChange(false);
  }

  /** @param {{ wrong?: string, begin?: number, end?: number }} result */
  showError(result) {
    byId('filter').dataset.read = byId('filter').value;
    byId('filter').setAttribute('aria-invalid', String(result.wrong !== undefined));
    byId('filter-error').hidden = result.wrong === undefined;
    if (result.wrong === undefined) return;
    const [place, words] = byId('filter-error').children;
    place.textContent = underline(byId('filter').value, result);
    words.replaceChildren(...withCode(result.wrong));
  }
}
