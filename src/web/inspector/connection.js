/**
 * Connection to the server's `/wire`: checks the permission, opens, and reconnects. It carries JSON
 * and observed bytes. The token never appears in an address or a cookie, and is stored for the tab
 * only.
 *
 * @module inspector/connection
 */

import { EDITION } from '../wasm/edition.js';
import { bearerSubprotocol, openSocket } from '../wasm/open-socket.js';
import { session } from '../lib/stored.js';

/**
 * Storage key of the token. The admin page uses the same key, so that both pages of a tab share the
 * token.
 */
const STORAGE_KEY = 'tickwire-admin-token';
const SUBPROTOCOL = 'tickwire.wire';
const RETRY_MS = 1500;

/** Describes the status of a refused request; '' if a token may help. @param {number} status */
export function statusReason(status) {
  if (status === 401 || status === 403) return '';
  if (status === 429) return 'Too many wrong tokens; wait a minute';
  return `Refused: ${status}`;
}

/** Returns whether the server has a browser edition. A server of an own game may have none. */
export async function hasBrowserEdition() {
  const response = await fetch('tab/', { method: 'HEAD' }).catch(() => null);
  return response?.ok === true;
}

/** @typedef {import('./list/source-menu.js').Client} Client */
/**
 * JSON message from the server. `own` and `injected` are client numbers.
 * @typedef {{ welcome?: object, clients?: Client[], ended?: Client[], own?: number | null,
 *   injected?: number | null, error?: string, held?: import('./proxy-panel.js').Held[], rules?:
 *   string[], proxy?: { error?: string } }} Message
 */

/** Connection to `/wire`. */
export class InspectorConnection {
  /**
   * @param {{ onOpen: () => void, onMessage: (message: Message, text: string) => void,
   *   onObserved: (message: ArrayBuffer) => void, state: (state: 'open' | 'waiting', text: string)
   *   => void, askForToken: (why: string) => void }} on
   */
  constructor(on) {
    this.on = on;
    this.token = session.getItem(STORAGE_KEY) ?? '';
    /** @type {import('../wasm/open-socket.js').Socket | null} */
    this.socket = null;
    this.timer = 0;
    /** Whether the connection should be open. */
    this.isWanted = false;
  }

  /** Reads a token from the address and removes it there. */
  readTokenFromUrl() {
    const given = location.hash.slice(1).trim();
    if (given === '') return;
    history.replaceState(null, '', location.pathname + location.search);
    this.storeToken(given);
  }

  /** @param {string} token */
  storeToken(token) {
    this.token = token;
    if (token === '') session.removeItem(STORAGE_KEY);
    else session.setItem(STORAGE_KEY, token);
  }

  /** Checks the permission and opens the connection. */
  async open() {
    clearTimeout(this.timer);
    this.isWanted = true;
    this.on.state('waiting', 'Connecting');
    // The server in this tab needs no token.
    if (EDITION === 'tab') return this.connect();
    let status = 0;
    try {
      /** @type {Record<string, string>} */
      const headers = this.token === '' ? {} : { Authorization: `Bearer ${this.token}` };
      // Requests the page first: its status contains the reason, and a refused WebSocket reports
      // none.
      const response = await fetch('wire', { headers, credentials: 'omit', cache: 'no-store' });
      await response.text();
      status = response.status;
    } catch {
      if (this.isWanted) this.scheduleRetry('No answer from the server');
      return;
    }
    if (!this.isWanted) return;
    if (status === 200) this.connect();
    else if (statusReason(status) === '') this.refused();
    else this.scheduleRetry(statusReason(status));
  }

  refused() {
    const why = this.token === '' ? '' : 'This is not the token.';
    this.storeToken('');
    this.on.askForToken(why);
  }

  connect() {
    const socket = openSocket('wire', this.token === '' ? [SUBPROTOCOL] : [SUBPROTOCOL, bearerSubprotocol(this.token)]);
    let isOpen = false;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      if (socket !== this.socket) return;
      isOpen = true;
      this.on.state('open', 'Connected');
      this.on.onOpen();
    };
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket) return;
      if (typeof data === 'string') this.on.onMessage(JSON.parse(data), data);
      else this.on.onObserved(data);
    };
    socket.onclose = ({ reason }) => {
      if (socket !== this.socket) return;
      this.socket = null;
      this.scheduleRetry(isOpen ? `Closed${reason ? `: ${reason}` : ''}` : 'The server refused; perhaps too many others are watching');
    };
    this.socket = socket;
  }

  /** Closes the connection until the next `open`. */
  close() {
    clearTimeout(this.timer);
    this.isWanted = false;
    const { socket } = this;
    this.socket = null;
    socket?.close();
    this.on.state('waiting', 'Not connected');
  }

  /** @param {string} why */
  scheduleRetry(why) {
    this.on.state('waiting', why);
    this.timer = setTimeout(() => this.open(), RETRY_MS);
  }

  /** Sends a request; dropped without a connection. @param {Record<string, unknown>} message */
  request(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
