/**
 * A connection to the server of this page: a WebSocket, or in the tab edition one whose other end is in a worker. Everything above it is the same code
 * in both editions.
 *
 * @module wasm/open-socket
 */

import { EDITION } from './edition.js';
import { WorkerSocket } from './worker-socket.js';

/** The part of a WebSocket that the pages use. @typedef {WebSocket | WorkerSocket} Socket */

/**
 * A token as a subprotocol. A list of subprotocols is the only header that a page can set for a WebSocket: no proxy logs it.
 * @param {string} token
 */
export function bearerSubprotocol(token) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(token));
  return `bearer.${btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** Characters of a token, of which a server compares no more. */
const MAX_TOKEN_CHARS = 256;

/**
 * What a page of a game offers: a subprotocol, which the server selects, its key, and its token.
 * @param {string} protocol @param {string} key @param {string | null} token
 */
export function offers(protocol, key, token) {
  return [protocol, `key.${key}`, ...(token === null ? [] : [bearerSubprotocol(token.slice(0, MAX_TOKEN_CHARS + 1))])];
}

/**
 * @param {string} path of the endpoint with its query @param {string[]} protocols
 * @param {string} [base] the address that the path is relative to, by default this page's
 * @param {new (url: URL, protocols: string[]) => any} [Kind] another implementation of a WebSocket
 * @returns {Socket}
 */
export function openSocket(path, protocols, base = location.href, Kind = undefined) {
  if (EDITION === 'tab' && !Kind) return new WorkerSocket(path, protocols);
  const url = new URL(path, base);
  url.protocol = url.protocol.replace('http', 'ws');
  url.hash = '';
  return new (Kind ?? WebSocket)(url, protocols);
}
