/**
 * Address of the intercepting proxy, in place of the list while no client has connected.
 *
 * @module inspector/proxy-address
 */

import { copyText } from '../lib/clipboard.js';

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/** Returns the URL of the pages that the proxy passes on. @param {string} url of its WebSockets */
export const pageOf = (url) => url.replace(/^ws/, 'http');

/** Address of the proxy. */
export class ProxyAddress {
  constructor() {
    /** Whether a client has connected since the page was opened. */
    this.hasClients = false;
    byId('connect-copy').onclick = () => this.copy();
  }

  /** Shows the address, unless a client has connected. @param {string} url */
  show(url) {
    byId('connect-url').textContent = url;
    byId('connect-page').textContent = pageOf(url);
    byId('connect-page').href = pageOf(url);
    byId('connect').hidden = this.hasClients;
  }

  hide() {
    this.hasClients = true;
    byId('connect').hidden = true;
  }

  async copy() {
    const isCopied = await copyText(byId('connect-url').textContent ?? '');
    byId('connect-copy').textContent = isCopied ? 'Copied' : 'Select it and press Ctrl+C';
  }
}
