/**
 * Invitation of friends: a button creates a private room and opens it; the page of a private room
 * shows its link, and the settings of every room but the default one copy it. The page first checks
 * with the server, because only a server with rooms on demand creates rooms.
 *
 * @module game/hud/invite
 */

import { copyText } from '../../lib/clipboard.js';
import { EDITION } from '../../wasm/edition.js';
import { byId, onButton } from './dom.js';
import { urlFromRoot, isPrivate, newPrivateName, roomList, roomOf } from '../../lib/address.js';

export class InviteButton {
  /** @param {(text: string) => void} notify shows a toast */
  constructor(notify) {
    this.notify = notify;
    onButton('friends-make', () => location.assign(urlFromRoot(location.href, `r/${newPrivateName()}/`)));
    onButton('invite-copy', () => this.copyOnCard());
    onButton('s-invite', () => this.copyInGame());
    this.showInGame();
    if (isPrivate(roomOf(location.pathname))) this.showInvite();
    else if (EDITION === 'server') this.showIfAvailable();
  }

  /** Link to the room of this page. */
  get link() {
    return new URL('.', location.href).href;
  }

  /** Shows the button in the settings, unless this page is in the default room. */
  showInGame() {
    byId('s-invite').hidden = roomOf(location.pathname) === '';
  }

  showInvite() {
    const field = /** @type {HTMLInputElement} */ (byId('invite-link'));
    field.value = this.link;
    field.addEventListener('focus', () => field.select());
    byId('invite').hidden = false;
  }

  /** Shows the button if the server creates rooms. */
  async showIfAvailable() {
    byId('friends').hidden = (await roomList())?.on_demand !== true;
  }

  /**
   * Copies the link and shows this on the button. If the browser forbids copying, selects the link.
   */
  async copyOnCard() {
    const isDone = await copyText(this.link);
    byId('invite-copy').textContent = isDone ? 'Copied' : 'Copy';
    byId('invite-status').textContent = isDone ? 'The link was copied.' : 'Copy the selected link.';
    if (!isDone) byId('invite-link').focus();
  }

  async copyInGame() {
    const isDone = await copyText(this.link);
    this.notify(isDone ? 'Invite link copied: send it to your friends' : `Invite your friends: ${this.link}`);
  }
}
