/**
 * Status line below the list: the result of the last action, and notes.
 *
 * @module inspector/status-line
 */

/** Time that the result of an action stays visible, ms. */
const DISPLAY_MS = 4000;

/**
 * Returns the notes on the shown source.
 * @param {{ shown: { kind: string }, progress: string, paused: boolean, missed: number, ended:
 *   string, lost: number }} state
 */
export function notesOf({ shown, progress, paused, missed, ended, lost }) {
  if (shown.kind !== 'live') return shown.kind === 'file' ? [progress] : [];
  const parts = [];
  if (paused) parts.push(missed > 0 ? `Paused: ${missed} frame${missed === 1 ? '' : 's'} passed` : 'Paused');
  if (ended !== '') parts.push(`The connection ended: ${ended}`);
  if (lost > 0) parts.push(`Not shown, because there were too many: ${lost} message${lost === 1 ? '' : 's'}`);
  return parts;
}

export class StatusLine {
  /** @param {HTMLElement} box @param {() => string[]} parts returns the notes */
  constructor(box, parts) {
    this.box = box;
    this.parts = parts;
    this.done = '';
    this.timer = 0;
  }

  show() {
    const text = [this.done, ...this.parts()].filter((part) => part !== '').join(' · ');
    if (this.box.textContent !== text) this.box.textContent = text;
  }

  /** Shows the result of an action for a while. @param {string} what */
  showTemporarily(what) {
    this.done = what;
    this.show();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.done = ''; this.show(); }, DISPLAY_MS);
  }
}
