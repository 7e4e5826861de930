/**
 * Page next to the game: shows the frames that the player causes.
 *
 * @module inspector/game-page
 */

import { toggled } from './list/hide-bar.js';

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/** Packet that a game sends for each movement of the mouse, if its dialect has one. */
const MOUSE_PACKET = 'aim';

/** Page next to the game. */
export class GamePage {
  /**
   * @param {import('./host-page.js').HostPage} hostPage
   * @param {import('./list/filter-bar.js').FilterBar} filterBar
   */
  constructor(hostPage, filterBar) {
    this.hostPage = hostPage;
    this.filterBar = filterBar;
    /** Whether the packet of the mouse was hidden once. The user may show it again. */
    this.hasHidden = false;
  }

  /** Adapts the page: hides frames of the server and automatic ones. */
  adapt() {
    document.body.classList.add('game');
    this.hostPage.markFocus(document.body.classList);
    byId('game').textContent = 'Close';
    byId('hint').textContent = `${matchMedia('(pointer: coarse)').matches ? 'Tap' : 'Press a key in'} the game: its frame is shown here, bit by bit.`;
    this.filterBar.setAutomatic(false);
    this.filterBar.setFrom('client');
  }

  /** Closes the inspector in the game's page; otherwise opens the game with the inspector. */
  closeOrOpen() {
    if (this.hostPage.isOpen) this.hostPage.close();
    else location.href = './?inspector';
  }

  /**
   * Hides the packet of the mouse when it first arrives.
   * @param {{ packet: string | null }[]} entries
   */
  received(entries) {
    if (!this.hostPage.isOpen || this.hasHidden || !entries.some(({ packet }) => packet === MOUSE_PACKET)) return;
    this.hasHidden = true;
    this.filterBar.set(toggled(this.filterBar.text, MOUSE_PACKET));
  }
}
