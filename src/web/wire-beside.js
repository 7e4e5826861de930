/**
 * The game beside the inspector, so that one presses a key and sees one's own frame.
 *
 * Comes in: the clients that the server lists. Goes out: which of them is the game in this page. Who plays is known by its player number, which
 * the game's page tells and the server gave to one client only; before that it is the newest client that came after the game was opened.
 * Never: a word to the game's page; it is looked at, not touched.
 *
 * @module wire-beside
 */

/** @typedef {{ id: number, player: number, dialect: string }} Client */

/**
 * Which client the game is; `null` while that cannot be said.
 * @param {Client[]} clients in the order of their numbers @param {number | null} player of the game, if it plays
 * @param {number} before the highest client number when the game was opened
 */
export function ownClient(clients, player, before) {
  if (player !== null) return clients.find((client) => client.player === player)?.id ?? null;
  return clients.findLast((client) => client.id > before && client.dialect === 'native')?.id ?? null;
}

export class Beside {
  /** @param {HTMLElement} place @param {HTMLElement} inspector */
  constructor(place, inspector) {
    this.place = place;
    this.inspector = inspector;
    /** @type {HTMLIFrameElement | null} */
    this.frame = null;
    this.before = 0;
    this.epoch = '';
    /** Whether the clients of this moment are known, so that the game's own is told from those before it. */
    this.isListed = false;
  }

  get isOpen() {
    return !this.place.hidden;
  }

  /** A server that was started anew counts its clients anew. @param {string} epoch of its start */
  met(epoch) {
    if (epoch !== this.epoch) this.before = 0;
    this.epoch = epoch;
    this.isListed = false;
  }

  /** @param {Client[]} clients */
  heard(clients) {
    this.isListed = true;
    if (this.isOpen && !this.frame) this.open(clients);
  }

  /** Opens or closes the game. @param {Client[]} clients @returns {boolean} whether it is open */
  toggle(clients) {
    const isOpen = !this.isOpen;
    this.place.hidden = !isOpen;
    document.body.classList.toggle('game', isOpen);
    if (isOpen && this.isListed) this.open(clients);
    if (!isOpen) {
      this.frame?.remove();
      this.frame = null;
    }
    return isOpen;
  }

  /** @param {Client[]} clients */
  open(clients) {
    this.before = Math.max(0, ...clients.map((client) => client.id));
    this.frame = document.createElement('iframe');
    this.frame.title = 'The game';
    this.frame.src = './';
    this.place.replaceChildren(this.frame);
  }

  /** The number of the game's client. @param {Client[]} clients @returns {number | null} */
  own(clients) {
    if (!this.frame) return null;
    const hook = /** @type {any} */ (this.frame.contentWindow)?.tickwire;
    return hook ? ownClient(clients, hook.id, this.before) : null;
  }
}
