/**
 * A connection to the server of this page: a WebSocket, or in the tab edition one whose other end is in a worker. Everything above it is the same code
 * in both editions.
 *
 * @module socket
 */

import { EDITION } from './edition.js';
import { TabSocket } from './tab-socket.js';

/** The part of a WebSocket that the pages use. @typedef {WebSocket | TabSocket} Socket */

/**
 * @param {string} path of the endpoint with its query @param {string[]} protocols
 * @param {string} [base] the address that the path is relative to, by default this page's
 * @param {new (url: URL, protocols: string[]) => any} [Kind] another implementation of a WebSocket
 * @returns {Socket}
 */
export function openSocket(path, protocols, base = location.href, Kind = undefined) {
  if (EDITION === 'tab' && !Kind) return new TabSocket(path, protocols);
  const url = new URL(path, base);
  url.protocol = url.protocol.replace('http', 'ws');
  url.hash = '';
  return new (Kind ?? WebSocket)(url, protocols);
}
