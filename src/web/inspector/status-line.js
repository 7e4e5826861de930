/**
 * Status line below the list: the result of the last action, and notes.
 *
 * @module inspector/status-line
 */

/** Time that the result of an action stays visible, ms. */
const DISPLAY_MS = 4000;

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
