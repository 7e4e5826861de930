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
 * @param {string} path of the endpoint with its query, relative to this page @param {string[]} protocols
 * @returns {Socket}
 */
export function openSocket(path, protocols) {
  if (EDITION === 'tab') return new TabSocket(path, protocols);
  const url = new URL(path, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.hash = '';
  return new WebSocket(url, protocols);
}
