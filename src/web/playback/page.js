/**
 * What a page does that watches a capture (`?watch=FILE`, or `?watch` for one that is chosen or dropped): it reads the file, offers the bar, and shares
 * the time line with the inspector beside it. What the messages mean is the page's business.
 *
 * @module playback/page
 */

import { roomOf } from '../lib/room.js';
import { wasmModule } from '../wasm/module.js';
import { withQueryParam } from '../lib/netem-menu.js';
import { PlaybackBar, tickFromHash } from './bar.js';
import { Playback } from './playback.js';

/** The room that the address asks for: by `room=`, or by its path. @param {{ search: string, pathname: string }} address */
export const requestedRoom = ({ search, pathname }) => new URLSearchParams(search).get('room') ?? roomOf(pathname);

/** The query of an address that asks for this room. @param {{ search: string, pathname: string }} address @param {string} room */
export function withRoom({ search, pathname }, room) {
  return withQueryParam(search, 'room', room === roomOf(pathname) ? null : `room=${encodeURIComponent(room)}`);
}

/**
 * @typedef {object} Page
 * @property {(message: Uint8Array, nowMs: number) => void} onMessage takes a message of the server
 * @property {() => void} onSeekDone something is to be drawn although the page's time may stand still
 * @property {() => Promise<[game: string, dialect: string, table: string]>} tables with which messages are read
 * @property {import('../lib/inspector-pane.js').InspectorPane} [pane] the inspector beside the page
 */

/** Watches the capture of the address. @param {string} asked @param {Page} page @returns {Playback & { draw: (nowMs: number) => void }} */
export function startPlaybackPage(asked, { onMessage, onSeekDone, tables, pane }) {
  /** @type {{ name: string, file: () => Promise<File>, stream: () => Promise<ReadableStream<Uint8Array>> } | null} */
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
      history.replaceState(null, '', `${location.pathname}?watch`);
      if (pane?.isOpen) pane.show(false);
      pane?.forget();
      read(null);
    },
    room: async (name) => {
      // Another room is seen from its beginning; the link and a reload have it.
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

/** A capture at an address of this site. @param {string} name */
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

/** What the inspector beside the page uses. @param {Playback} playback @param {() => { file: () => Promise<File> } | null} source */
function shareWithInspector(playback, source) {
  const shared = {
    /** The file; fails with a sentence if there is none. */
    file: () => source()?.file() ?? Promise.reject(new Error('No capture is open.')),
    /** The tick that is seen; 0 while it goes elsewhere. */
    get tick() { return playback.seeking === null ? playback.tick : 0; },
    /** When that tick was over, ms since the first packet of the file. */
    get ms() { return playback.msOfTick(playback.tick); },
    /** Goes to a time, and pauses. @param {number} ms @returns {number} the tick there */
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
