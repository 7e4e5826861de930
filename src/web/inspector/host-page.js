/**
 * The game's page that contains the inspector as an iframe. The client of that page is selected by
 * default. The inspector reads the player number from the page, forwards keys to it, and may
 * request to be closed.
 *
 * @module inspector/host-page
 */

/** @typedef {{ id: number, player: number, dialect: string }} Client */

/**
 * The part of `window.tickwire` that the inspector reads.
 * @typedef {{ id: number | null, resumeKey: string | null }} ParentGame
 */

/**
 * Returns `window.tickwire` of the parent page; null without a parent page of the game.
 * @param {Window} page
 * @returns {ParentGame | null}
 */
export function parentGame(page) {
  try {
    return page.parent === page ? null : /** @type {Window & { tickwire?: ParentGame }} */ (page.parent).tickwire ?? null;
  } catch {
    // The parent page belongs to another site.
    return null;
  }
}

export class HostPage {
  /** @param {Window} [page] */
  constructor(page = window) {
    this.page = page;
    this.isOpen = new URLSearchParams(page.location.search).has('embedded') && page.frameElement !== null;
  }

  /**
   * Returns the client of the game's page; null if the page has no player.
   * @param {Client[]} clients
   * @returns {number | null}
   */
  ownClient(clients) {
    const player = this.isOpen ? parentGame(this.page)?.id ?? null : null;
    return player === null ? null : clients.find((client) => client.player === player)?.id ?? null;
  }

  /** Requests that the game's page closes the inspector. */
  close() {
    this.page.frameElement?.dispatchEvent(new Event('close'));
  }

  /**
   * Marks the page while it has the keyboard focus. Otherwise the game receives the keys.
   * @param {DOMTokenList} classes
   */
  markFocus(classes) {
    const update = () => classes.toggle('has-keys', this.page.document.hasFocus());
    for (const event of ['focus', 'blur']) this.page.addEventListener(event, update);
    update();
  }

  /** Moves the keyboard focus to the game. */
  focusGame() {
    if (this.isOpen) this.page.parent.focus();
  }

  /**
   * Forwards a key that the inspector does not use to the game, and moves the keyboard focus there.
   * @param {KeyboardEvent} event
   */
  forwardKey({ key, code, repeat, shiftKey }) {
    if (!this.isOpen) return;
    this.focusGame();
    this.page.parent.document.body.dispatchEvent(new KeyboardEvent('keydown', { key, code, repeat, shiftKey, bubbles: true, cancelable: true }));
  }

  /**
   * Calls `shown` when the game's page shows the inspector, and `hidden` when the page hides the
   * inspector. If the inspector is visible now, calls `shown` at once.
   * @param {() => void} shown
   * @param {() => void} hidden
   */
  whileVisible(shown, hidden) {
    const frame = /** @type {HTMLElement | null} */ (this.isOpen ? this.page.frameElement : null);
    frame?.addEventListener('show', shown);
    frame?.addEventListener('hide', hidden);
    if (!frame?.hidden) shown();
  }
}
