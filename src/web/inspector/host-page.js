/**
 * The game around the inspector: in the game's page, in which the inspector is an iframe, its own client is the one to watch.
 *
 * Who plays is known by its player number, which the game's page tells. Nothing of the game's page is changed; it is only asked to close the inspector.
 *
 * @module inspector/host-page
 */

/** @typedef {{ id: number, player: number, dialect: string }} Client */

/** What the page around this one shows of its game; `null` without one. @param {Window} page */
export function parentGame(page) {
  try {
    return page.parent === page ? null : /** @type {any} */ (page.parent).tickwire ?? null;
  } catch {
    // A page of another site is around this one.
    return null;
  }
}

export class HostPage {
  /** @param {Window} [page] */
  constructor(page = window) {
    this.page = page;
    this.isOpen = new URLSearchParams(page.location.search).has('beside') && page.frameElement !== null;
  }

  /** The game's client, if it plays. @param {Client[]} clients @returns {number | null} */
  ownClient(clients) {
    const player = this.isOpen ? parentGame(this.page)?.id ?? null : null;
    return player === null ? null : clients.find((client) => client.player === player)?.id ?? null;
  }

  /** Asks the game's page to close the inspector. */
  close() {
    this.page.frameElement?.dispatchEvent(new Event('close'));
  }

  /** Gives the keys to the game. */
  focusGame() {
    if (this.isOpen) this.page.parent.focus();
  }

  /** A key that means nothing here is the game's, and so are the next ones: whoever pressed a button here can walk on. @param {KeyboardEvent} event */
  forwardKey({ key, code, repeat, shiftKey }) {
    if (!this.isOpen) return;
    this.focusGame();
    this.page.parent.document.body.dispatchEvent(new KeyboardEvent('keydown', { key, code, repeat, shiftKey, bubbles: true, cancelable: true }));
  }

  /** Calls back when the game's page shows the inspector, at once if it does, and when it hides it. @param {() => void} shown @param {() => void} hidden */
  whileShown(shown, hidden) {
    const frame = /** @type {HTMLElement | null} */ (this.isOpen ? this.page.frameElement : null);
    frame?.addEventListener('show', shown);
    frame?.addEventListener('hide', hidden);
    if (!frame?.hidden) shown();
  }
}
