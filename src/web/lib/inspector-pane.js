/**
 * The inspector in an iframe of the game's page or of a playback page. A button or `?inspector` in
 * the address opens it. The game keeps running. The iframe receives the events `show` and `hide`,
 * and sends `close`.
 *
 * @module lib/inspector-pane
 */

import { EDITION } from '../wasm/edition.js';
import { withQueryParam } from './netem-menu.js';

/**
 * Page of the inspector. A server responds to `wire` with the page, or with the status of a
 * refusal. The host of the browser edition has only the file.
 */
const INSPECTOR_PAGE = EDITION === 'tab' ? 'inspector.html' : 'wire';
/** The inspector of a playback page needs no server. */
const PLAYBACK_PAGE = 'inspector.html?embedded&capture';

/**
 * Defines `window.tickwire` for the inspector, which reads the client of the page from it.
 * @param {{ readonly player: number | null, readonly resumeKey: string }} game
 */
export function exposeClient(game) {
  const client = {
    get id() { return game.player; },
    get resumeKey() { return game.resumeKey; },
  };
  Object.defineProperty(window, 'tickwire', { value: Object.freeze(client) });
}

export class InspectorPane {
  /**
   * @param {() => void} onKeysGone called when the inspector gets the keyboard focus
   * @param {(isOpen: boolean) => void} onPressed called after a button has opened or closed the
   *   inspector
   */
  constructor(onKeysGone, onPressed) {
    /**
     * The iframe. A hidden iframe stays loaded, for offline use.
     * @type {HTMLIFrameElement | null}
     */
    this.frame = null;
    this.buttons = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.see-wire')]);
    for (const button of this.buttons) {
      button.hidden = false;
      button.addEventListener('click', ({ detail }) => {
        // A mouse press returns the keyboard focus to the page.
        if (detail > 0) button.blur();
        this.show(!this.isOpen);
        onPressed(this.isOpen);
      });
    }
    // `document.activeElement` changes only after the `blur` event.
    addEventListener('blur', () => setTimeout(() => { if (this.isOpen && document.activeElement === this.frame) onKeysGone(); }));
    if (new URLSearchParams(location.search).has('inspector')) this.show(true);
  }

  get isOpen() {
    return this.frame !== null && !this.frame.hidden;
  }

  /** Loads the inspector without showing it. */
  load() {
    const frame = document.createElement('iframe');
    frame.id = 'wire';
    frame.title = 'The inspector: what this page and the server say to each other';
    frame.hidden = true;
    frame.src = new URLSearchParams(location.search).has('capture') ? PLAYBACK_PAGE : `${INSPECTOR_PAGE}?embedded`;
    frame.addEventListener('close', () => this.show(false));
    document.body.append(frame);
    this.frame = frame;
    return frame;
  }

  /** Removes the iframe, so that the next opening loads it again. */
  forget() {
    this.frame?.remove();
    this.frame = null;
  }

  /** @param {boolean} isOpen */
  show(isOpen) {
    const frame = this.frame ?? this.load();
    frame.hidden = !isOpen;
    document.body.classList.toggle('beside', isOpen);
    for (const button of this.buttons) {
      button.textContent = isOpen ? 'Hide the wire' : 'See the wire';
      button.setAttribute('aria-expanded', String(isOpen));
    }
    history.replaceState(null, '', withQueryParam(location.search, 'inspector', isOpen ? 'inspector' : null) || location.pathname);
    frame.dispatchEvent(new Event(isOpen ? 'show' : 'hide'));
    if (!isOpen) window.focus();
  }
}
