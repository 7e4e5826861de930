/**
 * Replaces `DataChannel` in the browser edition. Datagrams go through the port of the socket, and
 * the worker simulates their network.
 *
 * @module wasm/worker-channel
 */

export class WorkerChannel {
  /**
   * @param {import('./worker-socket.js').WorkerSocket} socket
   * @param {(datagram: Uint8Array) => void} onDatagram
   */
  constructor(socket, onDatagram) {
    this.socket = socket;
    socket.ondatagram = onDatagram;
  }

  /** Returns an empty offer: the datagrams need neither an address nor encryption. */
  async offer() {
    return '';
  }

  async accept() {}

  /** @param {Uint8Array<ArrayBuffer>} datagram */
  send(datagram) {
    this.socket.sendDatagram(datagram);
  }

  close() {
    this.socket.ondatagram = () => {};
  }
}
