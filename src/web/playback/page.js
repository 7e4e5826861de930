/**
 * Shows a capture in the page of a game (`?capture=FILE`, or `?capture` to let the user choose):
 * reads the file, shows the control bar, and shares the time line with the inspector. The page
 * itself handles the messages.
 *
 * @module playback/page
 */

import { roomOf } from '../lib/address.js';
import { wasmModule } from '../wasm/module.js';
import { withQueryParam } from '../lib/netem-menu.js';
import { PlaybackBar, tickFromHash } from './bar.js';
import { Playback } from './playback.js';

/**
 * Returns the room that the address selects, by `room=` or by its path.
 * @param {{ search: string, pathname: string }} address
 */
export const requestedRoom = ({ search, pathname }) => new URLSearchParams(search).get('room') ?? roomOf(pathname);

/**
 * Returns the query of an address that selects this room.
 * @param {{ search: string, pathname: string }} address
 * @param {string} room
 */
export function withRoom({ search, pathname }, room) {
  return withQueryParam(search, 'room', room === roomOf(pathname) ? null : `room=${encodeURIComponent(room)}`);
}

/**
 * @typedef {object} Page
 * @property {(message: Uint8Array, nowMs: number) => void} onMessage receives a recorded message
 * @property {() => void} onSeekDone called after a seek, to redraw even in a pause
 * @property {() => Promise<[game: string, dialect: string, table: string]>} tables returns the
 *   packet table for decoding
 * @property {import('../lib/inspector-pane.js').InspectorPane} [pane] the inspector of the page
 */

/**
 * Starts the playback of a capture.
 * @param {string} asked address of the capture; '' to let the user choose
 * @param {Page} page
 * @returns {Playback & { draw: (nowMs: number) => void }}
 */
export function startPlaybackPage(asked, { onMessage, onSeekDone, tables, pane }) {
  /**
   * @type {{ name: string, file: () => Promise<File>, stream: () =>
   *   Promise<ReadableStream<Uint8Array>> } | null}
   */
  let source = null;
  const playback = new Playback(wasmModule, { onMessage, onSeekDone, onChange: () => {} });
  const request = async (/** @type {string} */ room, /** @type {number | null} */ tick) => {
    const [game, dialect, table] = await tables();
    return { game, dialect, table, room, tick };
  };
  const hasLink = () => asked !== '' && source?.name === asked;
  /** @param {number | null} tick */
  const read = async (tick) => {
    const from = source;
    if (!from) return;
    document.title = `tickwire · ${from.name}`;
    try {
      await playback.read(from.stream, await request(requestedRoom(location), tick));
    } catch (error) {
      playback.fail(/** @type {Error} */ (error).message);
    }
  };
  const bar = new PlaybackBar(playback, {
    open: (file) => {
      source = { name: file.name, file: async () => file, stream: async () => file.stream() };
      history.replaceState(null, '', `${location.pathname}?capture`);
      if (pane?.isOpen) pane.show(false);
      pane?.forget();
      read(null);
    },
    room: async (name) => {
      // Another room is played from its beginning. Its name is added to the address, so that a link
      // or a reload opens the same room.
      if (hasLink()) history.replaceState(null, '', withRoom(location, name) || location.pathname);
      playback.selectRoom(name, await request(name, null));
    },
    wire: () => pane?.show(!pane.isOpen),
    isWire: () => pane?.isOpen ?? null,
    hasLink,
  });
  shareWithInspector(playback, () => source);
  if (asked === '') {
    playback.fail('Choose a capture, or drop one here: a file that a server wrote with --capture');
  } else {
    source = openUrl(asked);
    read(tickFromHash(location.hash));
  }
  return Object.assign(playback, { draw: (/** @type {number} */ nowMs) => bar.draw(nowMs) });
}

/** Returns a capture at an address of this site. @param {string} name */
function openUrl(name) {
  const get = async () => {
    const url = new URL(name, location.href);
    if (url.origin !== location.origin) throw new Error(`${url.href} is at another site: only captures of this one are opened`);
    const answer = await fetch(url, { cache: 'no-cache' });
    if (!answer.ok || !answer.body) throw new Error(`${url.pathname} cannot be loaded: status ${answer.status}`);
    return answer;
  };
  return {
    name,
    file: async () => new File([await (await get()).blob()], name),
    stream: async () => /** @type {ReadableStream<Uint8Array>} */ ((await get()).body),
  };
}

/**
 * Shares the playback with the inspector, as `window.tickwireWatch`.
 * @param {Playback} playback
 * @param {() => { file: () => Promise<File> } | null} source
 */
function shareWithInspector(playback, source) {
  const shared = {
    /** Returns the file; rejects with a sentence if there is none. */
    file: () => source()?.file() ?? Promise.reject(new Error('No capture is open.')),
    /** The rendered tick; 0 during a seek. */
    get tick() { return playback.seeking === null ? playback.tick : 0; },
    /** End of the rendered tick, ms since the first packet of the file. */
    get ms() { return playback.msOfTick(playback.tick); },
    /** Seeks to a time and pauses. @param {number} ms @returns {number} the tick at that time */
    seek: (ms) => {
      const { first = 0, last = 0 } = playback.status ?? {};
      const tick = Math.min(Math.max(playback.tickAt(ms), first + 1), last);
      playback.toggle(false);
      playback.seek(tick);
      return tick;
    },
  };
  Object.defineProperty(window, 'tickwireWatch', { value: Object.freeze(shared) });
}
