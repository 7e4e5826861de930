/**
 * Replaces the connection of a page made with `tickwire.js` whose address contains a capture
 * (`?capture=FILE`). It delivers the recorded messages and drops everything that the page sends.
 *
 * @module playback/connection
 */

import { formatTable } from '../lib/codec.js';
import { ReconnectingConnection } from '../lib/connection.js';
import { InspectorPane } from '../lib/inspector-pane.js';
import { startPlaybackPage } from './page.js';

export class PlaybackConnection extends ReconnectingConnection {
  /**
   * @param {string} capture
   * @param {string} game name of the game
   * @param {import('../lib/connection.js').ConnectionOptions} options
   * @param {import('../lib/connection.js').Listener & { onMessage: (bytes: Uint8Array, now?:
   *   number) => void }} listener
   */
  constructor(capture, game, options, listener) {
    super(options, listener);
    this.capture = capture;
    this.game = game;
    /** @type {ReturnType<typeof startPlaybackPage> | null} */
    this.playback = null;
  }

  /** Time of the recording, ms. */
  now() {
    return this.playback?.ms ?? performance.now();
  }

  /** Reads the capture. */
  async open() {
    this.attempt += 1;
    const dialect = await this.dialect();
    this.listener.onOpen(dialect);
    const playback = startPlaybackPage(this.capture, {
      onMessage: (message, now) => /** @type {any} */ (this.listener).onMessage(message, now),
      onSeekDone: () => {},
      pane: new InspectorPane(() => {}, () => {}),
      tables: async () => [this.game, dialect.name, formatTable(dialect.codes, dialect.name)],
    });
    this.playback = playback;
    const frame = (/** @type {number} */ nowMs) => {
      requestAnimationFrame(frame);
      playback.advance(nowMs);
      playback.draw(nowMs);
    };
    requestAnimationFrame(frame);
  }

  /** Drops the message. */
  send() {}

  /** Does nothing, because there is no server. */
  abandon() {}
}
