/**
 * In place of a connection, for a page made with `tickwire.js` whose address asks for a capture (`?watch=FILE`): what its world tells comes as if a server
 * had sent it, and what the page sends goes nowhere.
 *
 * @module playback/connection
 */

import { tableText } from '../lib/codec.js';
import { Link } from '../lib/connection.js';
import { Pane } from '../lib/inspector-pane.js';
import { watchPage } from './page.js';

export class WatchLink extends Link {
  /**
   * @param {string} asked the capture @param {string} game the name of the game
   * @param {import('../lib/connection.js').Where} where
   * @param {import('../lib/connection.js').Listener & { message: (bytes: Uint8Array, now?: number) => void }} listener
   */
  constructor(asked, game, where, listener) {
    super(where, listener);
    this.asked = asked;
    this.game = game;
    /** @type {ReturnType<typeof watchPage> | null} */
    this.watch = null;
  }

  /** The page's time: that of the recording. */
  now() {
    return this.watch?.ms ?? performance.now();
  }

  /** Reads the file. */
  async open() {
    this.run += 1;
    const dialect = await this.dialect();
    this.listener.opened(dialect);
    const watch = watchPage(this.asked, {
      hear: (message, now) => /** @type {any} */ (this.listener).message(message, now),
      shown: () => {},
      pane: new Pane(() => {}),
      tables: async () => [this.game, dialect.name, tableText(dialect.codes, dialect.name)],
    });
    this.watch = watch;
    const frame = (/** @type {number} */ nowMs) => {
      requestAnimationFrame(frame);
      watch.advance(nowMs);
      watch.draw(nowMs);
    };
    requestAnimationFrame(frame);
  }

  /** Nobody listens. */
  send() {}

  /** There is nothing to give up. */
  giveUp() {}
}
