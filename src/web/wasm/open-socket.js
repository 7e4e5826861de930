/**
 * Opens a connection to the server of this page: a WebSocket, or in the browser edition a socket
 * into the worker. Both have the same interface.
 *
 * @module wasm/open-socket
 */

import { DataChannel, hasDataChannels } from '../lib/data-channel.js';
import { EDITION } from './edition.js';

/** Socket into the worker; null outside the browser edition, which alone loads it. */
const TabSocket = EDITION === 'tab' ? (await import('./worker-socket.js')).WorkerSocket : null;
/** Channel into the worker. */
const TabChannel = EDITION === 'tab' ? (await import('./worker-channel.js')).WorkerChannel : null;

/**
 * The part of a WebSocket that the pages use.
 * @typedef {object} Socket
 * @property {number} readyState
 * @property {BinaryType} binaryType
 * @property {((event?: unknown) => void) | null} onopen
 * @property {((event: { data: ArrayBuffer | string }) => void) | null} onmessage
 * @property {((event: { code: number, reason: string }) => void) | null} onclose
 * @property {(message: Uint8Array<ArrayBuffer> | string) => void} send
 * @property {(code?: number) => void} close
 */

/**
 * A channel for datagrams.
 * @typedef {object} Channel
 * @property {() => Promise<string>} offer returns the offer for the server
 * @property {(answer: string) => Promise<void>} accept connects to the server of an answer
 * @property {(datagram: Uint8Array<ArrayBuffer>) => void} send
 * @property {() => void} close
 */

/**
 * Encodes a token as a subprotocol. The list of subprotocols is the only header that a page can set
 * for a WebSocket; proxies do not log it.
 * @param {string} token
 */
export function bearerSubprotocol(token) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(token));
  return `bearer.${btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/**
 * Maximum characters of a token that the server accepts. A longer token is cut to one character
 * more, so that the server still rejects it.
 */
const MAX_TOKEN_CHARS = 256;

/**
 * Returns the subprotocols that a game's page offers: the protocol, which the server selects, the
 * resume key, and the token.
 * @param {string} protocol
 * @param {string} key
 * @param {string | null} token
 */
export function offers(protocol, key, token) {
  return [protocol, `key.${key}`, ...(token === null ? [] : [bearerSubprotocol(token.slice(0, MAX_TOKEN_CHARS + 1))])];
}

/**
 * Opens a socket.
 * @param {string} path endpoint with its query
 * @param {string[]} protocols
 * @param {string} [base] base of a relative path; default: the page's address
 * @param {new (url: URL, protocols: string[]) => Socket} [Kind] another WebSocket implementation
 * @returns {Socket}
 */
export function openSocket(path, protocols, base = location.href, Kind = undefined) {
  if (TabSocket && !Kind) return new TabSocket(path, protocols);
  const url = new URL(path, base);
  url.protocol = url.protocol.replace('http', 'ws');
  url.hash = '';
  return Kind ? new Kind(url, protocols) : /** @type {Socket} */ (/** @type {unknown} */ (new WebSocket(url, protocols)));
}

/**
 * Whether a page can have a data channel to a server with these carriers.
 * @param {string[]} carriers
 */
export const hasChannels = (carriers) => EDITION === 'tab' || (hasDataChannels() && carriers.includes('webrtc'));

/**
 * Opens a channel for datagrams.
 * @param {Socket} socket open socket of the connection
 * @param {(datagram: Uint8Array) => void} onDatagram
 * @param {() => void} onLost called once when the channel has failed
 * @returns {Channel}
 */
export function openChannel(socket, onDatagram, onLost) {
  if (TabChannel && 'sendDatagram' in socket) return new TabChannel(/** @type {any} */ (socket), onDatagram);
  return new DataChannel(onDatagram, onLost);
}
