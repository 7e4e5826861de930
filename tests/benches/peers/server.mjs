/**
 * Minimal servers with other libraries, for `scripts/bench.sh --peers`.
 *
 *     node server.mjs PEER              prints the versions of the library and of Node
 *     node server.mjs PEER BYTES HZ     prints `PEER bind ADDRESS`, and serves until it is killed
 *
 * Each server accepts WebSocket upgrades at any path, drops received messages, and sends each client
 * one binary message of BYTES bytes HZ times a second. Each send is a call for one client: `publish`
 * and `broadcast` encode a message once for all clients, and the game has an update for each client.
 * Compression is off.
 *
 * @module server
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const [peer, bytes, hz] = process.argv.slice(2);
const payload = new Uint8Array(Number(bytes));

/** Version of an installed package. */
function version(/** @type {string} */ name) {
  const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

/** Calls `update` HZ times a second. A late call does not delay the next one, as in the floor. */
function tick(/** @type {() => void} */ update) {
  const started = performance.now();
  let number = 0;
  const next = () => {
    number += 1;
    const wait = started + (number * 1000) / Number(hz) - performance.now();
    setTimeout(() => { update(); next(); }, Math.max(0, wait));
  };
  next();
}

const announce = (/** @type {number} */ port) => console.log(`${peer} bind 127.0.0.1:${port}`);

/** Starts an HTTP server on a free port. */
const listen = (http) => http.listen(0, '127.0.0.1', 4096, () => announce(http.address().port));

/** The npm package `ws`, without its optional helpers in C. */
async function ws() {
  const { WebSocketServer } = await import('ws');
  return { version: `ws ${version('ws')}`, serve: () => serveWs(WebSocketServer) };
}

function serveWs(WebSocketServer) {
  const http = createServer();
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  server.on('connection', (socket) => {
    socket.on('message', () => {});
    socket.on('error', () => {});
  });
  tick(() => server.clients.forEach((socket) => socket.send(payload)));
  listen(http);
}

/**
 * uWebSockets.js. Its authors do not publish it in the npm registry; this package contains its
 * binaries. The package falls back to a server in JavaScript if no binary fits, so the binary is
 * loaded directly. Newer packages need glibc 2.38, which Debian 12 lacks.
 */
async function uws() {
  const name = '@trufflesuite/uws-js-unofficial';
  const { platform, arch, versions } = process;
  const file = `./node_modules/${name}/binaries/uws_${platform}_${arch}_${versions.modules}.node`;
  const library = createRequire(import.meta.url)(file);
  return { version: `uWebSockets.js ${version(name)}`, serve: () => serveUws(library) };
}

function serveUws({ App, DISABLED, us_socket_local_port: portOf }) {
  const clients = new Set();
  App().ws('/*', {
    compression: DISABLED,
    open: (socket) => clients.add(socket),
    message: () => {},
    close: (socket) => clients.delete(socket),
  }).listen('127.0.0.1', 0, (socket) => announce(portOf(socket)));
  tick(() => clients.forEach((socket) => socket.send(payload, true, false)));
}

/** Colyseus: a room without a state. Its protocol adds a code and a type to each message: 2 bytes. */
async function colyseus() {
  const core = await import('@colyseus/core');
  const { WebSocketTransport } = await import('@colyseus/ws-transport');
  const serve = () => serveColyseus(core, WebSocketTransport);
  return { version: `Colyseus ${version('@colyseus/core')}`, serve };
}

async function serveColyseus({ Room, Server }, WebSocketTransport) {
  class Updates extends Room {
    onCreate() {
      this.maxClients = 10_000;
      this.patchRate = null;
      this.onMessageBytes(0, () => {});
      tick(() => this.clients.forEach((client) => client.sendBytes(0, payload)));
    }
  }
  const http = createServer();
  const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) });
  server.define('updates', Updates);
  await server.listen(0, '127.0.0.1', 4096);
  announce(http.address().port);
}

const peers = { ws, uws, colyseus };
const library = await peers[peer]();
if (bytes === undefined) {
  console.log(`${library.version} on Node ${process.versions.node}`);
  process.exit(0);
}
await library.serve();
