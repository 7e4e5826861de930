/**
 * The page around a game whose server runs in this tab: it starts the server, shows the game's own page, and the inspector beside it. Both are pages
 * in this one, and use its server.
 *
 * @module tab-game
 */

import { workerHost } from './wasm/worker-host.js';
import { fillNetemMenu } from './lib/netem-menu.js';

const part = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const [game, wire, see] = ['game', 'wire', 'see'].map(part);

const host = workerHost();
Object.defineProperty(window, 'tickwireTab', { value: host });
host.addEventListener('failed', () => say(host.failed));

/** @param {string} text */
function say(text) {
  part('status').textContent = text;
}

/** @param {boolean} isSeen */
function show(isSeen) {
  if (isSeen && !wire.getAttribute('src')) wire.src = 'inspector.html';
  wire.hidden = !isSeen;
  see.setAttribute('aria-pressed', String(isSeen));
  see.textContent = isSeen ? 'Hide the wire' : 'See the wire';
}

see.addEventListener('click', () => {
  show(wire.hidden);
  game.contentWindow.focus();
});

game.addEventListener('load', () => {
  const page = game.contentDocument;
  document.title = page.title;
  // A link to the inspector shows it here: in another tab would be another server.
  page.addEventListener('click', (/** @type {MouseEvent} */ event) => {
    const link = /** @type {Element} */ (event.target).closest?.('a[href]');
    if (!link || new URL(/** @type {HTMLAnchorElement} */ (link).href).pathname !== new URL('wire', location.href).pathname) return;
    event.preventDefault();
    show(true);
  });
  game.contentWindow.focus();
});

host.ready.then(() => {
  const bots = `${host.bots} bot${host.bots === 1 ? '' : 's'}`;
  say(`The whole server runs in this tab, with ${host.bots === 0 ? 'no bots' : bots}. Nothing leaves it.`);
  fillNetemMenu(part('net'), (text) => { part('net').title = text; }, host);
  part('net').disabled = false;
  game.src = 'game.html';
}, ({ message }) => say(message));
