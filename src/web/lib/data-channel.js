/**
 * The browser's end of a WebRTC data channel without order and without retransmission. Offer and
 * answer are exchanged over the open WebSocket.
 *
 * @module lib/data-channel
 */

/** Id of the channel, which both ends use without negotiation. */
const CHANNEL_ID = 0;
/** Maximum bytes in the browser's send buffer. At the limit, datagrams are dropped. */
const BUFFERED_BYTES = 4800;

/** Whether this browser has data channels. */
export const hasDataChannels = () => typeof globalThis.RTCPeerConnection === 'function';

export class DataChannel {
  /**
   * @param {(datagram: Uint8Array) => void} onDatagram
   * @param {() => void} onLost called once when the channel has failed
   */
  constructor(onDatagram, onLost) {
    this.peer = new RTCPeerConnection();
    this.channel = this.peer.createDataChannel('tickwire', { negotiated: true, id: CHANNEL_ID, ordered: false, maxRetransmits: 0 });
    this.channel.binaryType = 'arraybuffer';
    this.channel.onmessage = ({ data }) => onDatagram(new Uint8Array(data));
    this.onLost = onLost;
    this.channel.onclose = () => this.#lose();
    this.peer.onconnectionstatechange = () => { if (this.peer.connectionState === 'failed') this.#lose(); };
  }

  #lose() {
    const { onLost } = this;
    this.close();
    onLost();
  }

  /** Returns the offer, without addresses of this browser: the server responds to any address. */
  async offer() {
    await this.peer.setLocalDescription();
    return this.peer.localDescription?.sdp ?? '';
  }

  /** Connects to the server of an answer. @param {string} answer */
  async accept(answer) {
    await this.peer.setRemoteDescription({ type: 'answer', sdp: answer });
  }

  /** Sends a datagram, which may be lost. @param {Uint8Array<ArrayBuffer>} datagram */
  send(datagram) {
    if (this.channel.readyState === 'open' && this.channel.bufferedAmount <= BUFFERED_BYTES) this.channel.send(datagram);
  }

  close() {
    this.onLost = () => {};
    this.channel.onclose = null;
    this.peer.close();
  }
}
