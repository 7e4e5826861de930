/**
 * In place of a connection, for a page made with `tickwire.js` whose address asks for a capture (`?watch=FILE`): what its world tells comes as if a server
 * had sent it, and what the page sends goes nowhere.
 *
 * @module playback/connection
 */

import { formatTable } from '../lib/codec.js';
import { ReconnectingConnection } from '../lib/connection.js';
import { InspectorPane } from '../lib/inspector-pane.js';
import { startPlaybackPage } from './page.js';

export class PlaybackConnection extends ReconnectingConnection {
  /**
   * @param {string} capture @param {string} game the name of the game
   * @param {import('../lib/connection.js').ConnectionOptions} options
   * @param {import('../lib/connection.js').Listener & { onMessage: (bytes: Uint8Array, now?: number) => void }} listener
   */
  constructor(capture, game, options, listener) {
    super(options, listener);
    this.capture = capture;
    this.game = game;
    /** @type {ReturnType<typeof startPlaybackPage> | null} */
    this.playback = null;
  }

  /** The page's time: that of the recording. */
  now() {
    return this.playback?.ms ?? performance.now();
  }

  /** Reads the file. */
  async open() {
    this.attempt += 1;
    const dialect = await this.dialect();
    this.listener.onOpen(dialect);
    const playback = startPlaybackPage(this.capture, {
      onMessage: (message, now) => /** @type {any} */ (this.listener).onMessage(message, now),
      onSeekDone: () => {},
      pane: new InspectorPane(() => {}),
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

  /** Nobody listens. */
  send() {}

  /** There is nothing to give up. */
  abandon() {}
}
