// A way to the server that a test can cut: as a cable, a train's tunnel, or a change of network.

import { connect, createServer } from 'node:net';

export class Forwarder {
  /** @param {number} to port of the server */
  constructor(to) {
    this.to = to;
    /** The address from which the server sees the clients. */
    this.from = '127.0.0.1';
    /** @type {Set<[import('node:net').Socket, import('node:net').Socket]>} */
    this.pairs = new Set();
    this.port = 0;
    this.server = createServer((client) => this.join(client));
  }

  async open() {
    await this.listen(0);
    this.port = /** @type {import('node:net').AddressInfo} */ (this.server.address()).port;
    return this;
  }

  /** @param {number} port */
  listen(port) {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject).listen(port, '127.0.0.1', () => resolve(undefined));
    });
  }

  /** @param {import('node:net').Socket} client */
  join(client) {
    const server = connect({ port: this.to, host: '127.0.0.1', localAddress: this.from });
    /** @type {[import('node:net').Socket, import('node:net').Socket]} */
    const pair = [client, server];
    this.pairs.add(pair);
    for (const [one, other] of [[client, server], [server, client]]) {
      one.setNoDelay(true);
      one.on('data', (data) => { if (!other.destroyed) other.write(data); });
      one.on('end', () => other.end());
      one.on('error', () => {});
      one.on('close', () => {
        // Nobody tells the other end of a silent line.
        if (!one.isPaused()) other.destroy();
        if (client.destroyed && server.destroyed) this.pairs.delete(pair);
      });
    }
  }

  /** Nothing comes through any more, in either direction, and neither end learns of it. New connections are refused. */
  async fallSilent() {
    for (const pair of this.pairs) for (const socket of pair) socket.removeAllListeners('data').removeAllListeners('end').pause();
    this.server.close();
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }

  /** Lets new connections through again. The server still waits for the earlier ones. */
  async reopen() {
    this.server = createServer((client) => this.join(client));
    await this.listen(this.port);
  }

  /** Ends all connections without a close frame, as a change of network does. */
  cut() {
    for (const pair of [...this.pairs]) for (const socket of pair) socket.resetAndDestroy();
  }

  close() {
    this.server.close();
    for (const pair of [...this.pairs]) for (const socket of pair) socket.destroy();
  }
}
