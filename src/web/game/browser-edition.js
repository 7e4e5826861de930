/**
 * Parts of the game's page for the browser edition: starts the server worker, shows notes about the
 * edition, and caches the files for offline use.
 *
 * @module game/browser-edition
 */

import { EDITION } from '../wasm/edition.js';
import { byId } from './hud/dom.js';
import { netemOf, workerHost } from '../wasm/worker-host.js';
import { parentPage } from '../wasm/module.js';
import { fillNetemMenu, describeChoice } from '../lib/netem-menu.js';

/** Whether this page is the second client, inside the page that runs the server. */
export const IS_SECOND_CLIENT = EDITION === 'tab' && parentPage() !== null;

/** Opens a second client of the same server in an iframe, in lockstep. */
function openSecond() {
  const frame = document.createElement('iframe');
  frame.id = 'second';
  frame.title = 'A second client of the same server, in lockstep';
  frame.src = `${location.pathname}?mode=lockstep`;
  document.body.append(frame);
  document.body.classList.add('two');
}

/**
 * Starts the server. Resolves when it runs; rejects with a sentence for the player.
 * @param {import('../lib/inspector-pane.js').InspectorPane} pane
 * @param {(why: string) => void} onFailed called if the server stops later
 * @param {(text: string) => void} onNote shows a sentence
 */
export async function startBrowserServer(pane, onFailed, onNote) {
  if (EDITION !== 'tab') return;
  const host = workerHost();
  host.addEventListener('failed', () => onFailed(host.failed));
  if (IS_SECOND_CLIENT) {
    document.body.classList.add('second');
    return host.ready;
  }
  Object.defineProperty(window, 'tickwireTab', { value: host });
  byId('edition-bots').textContent = String(host.bots);
  byId('title-edition').hidden = false;
  await host.ready;
  if (new URLSearchParams(location.search).has('second')) openSecond();
  fillNetemMenu(/** @type {HTMLSelectElement} */ (byId('p-net')), (text) => { byId('p-net-text').textContent = text; }, host);
  byId('p-net-row').hidden = false;
  if (host.net.error !== undefined) onNote(describeChoice(netemOf(location.search), host.net));
  // Loads the inspector now, so that it opens offline even without a service worker.
  if (!pane.frame) pane.load();
  keepFiles();
}

/** Registers the service worker, which caches all files. */
async function keepFiles() {
  try {
    await navigator.serviceWorker.register(new URL('../service-worker.js', import.meta.url));
    await navigator.serviceWorker.ready;
    byId('edition-offline').hidden = false;
  } catch {
    // Service workers need https or localhost, and some private windows lack them.
  }
}
