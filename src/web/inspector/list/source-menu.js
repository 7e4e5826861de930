/**
 * Menu of sources: a client of the server, a connection of the opened capture, or the frame of a
 * link.
 *
 * @module inspector/list/source-menu
 */

import { ALL_CLIENTS } from '../explainer.js';

/** @typedef {import('../explainer.js').Explainer} Explainer */
/** @typedef {import('../explainer.js').Connection} Connection */
/**
 * @typedef {{ id: number, player: number, name: string, room: string, dialect: string, address:
 *   string, ended?: string }} Client `ended`: rule that closed it
 */
/**
 * @typedef {{ kind: 'live' | 'file' | 'link', name: string, explainer: Explainer, connections:
 *   Connection[], all: number, marks: Set<number> }} Source
 */

/**
 * Maximum connections of a capture in the menu. The filter `connection = 1234` selects any other
 * connection.
 */
const MAX_CONNECTIONS = 1000;
/** Dialect of traffic that no packet table describes. */
const NO_DIALECT = 'none';

/** Returns the menu text of a client, with the number that its rows have. @param {Client} client */
export function nameOfClient(client) {
  const name = client.name === '' ? (client.player === 0 ? 'watching' : `player ${client.player}`) : client.name;
  const room = client.room ? ` · room ${client.room}` : '';
  const dialect = client.dialect === NO_DIALECT ? '' : ` · ${client.dialect}`;
  const ended = client.ended ? ` · ${client.ended}` : '';
  return `#${client.id} · ${name}${room}${dialect} · ${client.address}${ended}`;
}

/** Returns the menu text of a connection. @param {Connection} connection */
export function nameOfConnection({ number, client, name, dialect, guess, whole, broken }) {
  const parts = [`#${number}`, ...(name ? [name] : []), ...(dialect && dialect !== NO_DIALECT ? [`${dialect}${guess ? '?' : ''}`] : []), client];
  if (!whole) parts.push('without its beginning');
  if (broken > 0) parts.push(`${broken} broken`);
  return parts.join(' · ');
}

/**
 * Returns the menu options: clients of the server, then connections of the capture.
 * @param {[Client[], Client[]]} clients connected clients, and ended clients
 * @param {number | null} watched `ALL_CLIENTS` for all
 * @param {Source} shown
 * @param {Source | null} file
 * @param {number | null} connection shown connection
 */
export function sourceOptions([clients, ended], watched, shown, file, connection) {
  const isLive = shown.kind === 'live';
  /** @param {Client} client */
  const optionOf = (client) => new Option(nameOfClient(client), String(client.id), false, isLive && client.id === watched);
  const all = clients.map(optionOf);
  const isHere = isLive && (watched === ALL_CLIENTS || [...clients, ...ended].some((client) => client.id === watched));
  if (clients.length > 1 || watched === ALL_CLIENTS) all.unshift(new Option(`All clients · ${clients.length} connected`, String(ALL_CLIENTS), false, isLive && watched === ALL_CLIENTS));
  const nobody = clients.length === 0 ? 'Nobody is connected' : 'Nobody';
  if (isLive) all.unshift(new Option(isHere || watched === null ? nobody : `#${watched} has left`, '', false, !isHere));
  const groups = [];
  if (file) {
    const group = document.createElement('optgroup');
    group.label = file.name;
    const isFile = shown === file;
    const many = file.all;
    group.append(new Option(many === 1 ? 'The capture\'s connection' : `All ${many} connections`, 'file:', false, isFile && connection === null));
    const some = many === 1 ? [] : file.connections.slice(0, MAX_CONNECTIONS);
    group.append(...some.map((one) => new Option(nameOfConnection(one), `file:${one.number}`, false, isFile && connection === one.number)));
    groups.push(group);
  }
  if (shown.kind === 'link') groups.push(new Option('Linked bytes', 'link:', false, true));
  const past = ended.length > 0 ? [document.createElement('optgroup')] : [];
  for (const group of past) {
    group.label = 'Ended, with the rule';
    group.append(...ended.toReversed().map(optionOf));
  }
  if (groups.length === 0) return [...all, ...past];
  const live = document.createElement('optgroup');
  live.label = 'Live, from the server';
  live.append(...all);
  return [...groups, ...(all.length > 0 ? [live] : []), ...past];
}

/** Returns a link to a frame, which any inspector page can explain. @param {string} fragment */
export function linkTo(fragment) {
  const link = new URL(location.href);
  link.search = '';
  link.hash = fragment;
  return link.href;
}

/**
 * Describes the progress of reading or filtering.
 * @param {ReturnType<Explainer['advance']>} work
 * @param {string[]} notes
 */
export function progressOf({ all, seen, judged, pieces = 0, read = 0, more }, notes) {
  if (read < pieces && more) return `Reading: ${Math.floor(100 * read / pieces)} %, ${all} frames`;
  if (more) return `Filtering: ${Math.floor(100 * judged / all)} %, ${seen} found`;
  const frames = `${all} frame${all === 1 ? '' : 's'}`;
  return [seen === all ? frames : `${seen} of ${frames}`, ...notes].join(' · ');
}

/**
 * Enables the export of live clients, or names the reason why it is disabled.
 * @param {boolean} isLive
 * @param {number | null} watched
 */
export function exportAvailability(isLive, watched) {
  const save = /** @type {HTMLButtonElement} */ (document.getElementById('save'));
  save.hidden = !isLive;
  save.disabled = watched === null;
  save.title = save.disabled ? 'Choose a client in the menu first' : `The stored frames of ${watched === ALL_CLIENTS ? 'all clients' : 'this client'}, for Wireshark and tickwire explain`;
}

/** Shows and hides the parts of the page for a kind of source. @param {Source['kind']} kind */
export function sourceVisibility(kind) {
  const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const isLive = kind === 'live';
  at('inside').dataset.source = kind;
  at('tick-title').textContent = isLive ? 'tick' : 'no.';
  at('tick-title').title = isLive ? 'The tick that was running' : 'The number of the packet in the file, as in Wireshark';
  for (const id of ['pause', 'follow', 'save']) at(id).hidden = !isLive;
  at('live').hidden = isLive;
}

/**
 * Describes where a frame was captured. The traffic of a proxy has no ticks.
 * @param {import('./frames.js').Entry} entry
 * @param {Source} source
 */
export function placeOf({ tick, client }, { kind, connections }) {
  if (kind === 'link') return 'from a link';
  if (kind === 'live') return tick === 0 ? '' : `tick ${tick}`;
  return `packet ${tick}${connections.length > 1 ? ` of connection #${client}` : ''}`;
}
