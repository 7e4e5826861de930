/**
 * A connection to the server of this page.
 *
 * @module socket
 */

/** The part of a WebSocket that the pages use. @typedef {WebSocket} Socket */

/**
 * @param {string} path of the endpoint with its query, relative to this page @param {string[]} protocols
 * @returns {Socket}
 */
export function openSocket(path, protocols) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.hash = '';
  return new WebSocket(url, protocols);
}
