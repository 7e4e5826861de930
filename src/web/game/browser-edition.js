/**
 * What the game's page does in the tab edition only: it starts the server, says what this is, and keeps what it needs for when there is no network.
 *
 * @module game/browser-edition
 */

import { EDITION } from '../wasm/edition.js';
import { byId } from './hud/hud.js';
import { netemOf, workerHost } from '../wasm/worker-host.js';
import { parentPage } from '../wasm/module.js';
import { fillNetemMenu, describeChoice } from '../lib/netem-menu.js';

/** Whether this page is the second one beside another, which has the server. */
export const IS_SECOND_CLIENT = EDITION === 'tab' && parentPage() !== null;

/** Opens a second client of the same server beside this one, which runs the world itself. */
function openSecond() {
  const frame = document.createElement('iframe');
  frame.id = 'second';
  frame.title = 'A second client of the same server, in lockstep';
  frame.src = `${location.pathname}?mode=lockstep`;
  document.body.append(frame);
  document.body.classList.add('two');
}

/**
 * Fulfilled when there is a server to connect to; fails with a sentence for the reader.
 * @param {import('../lib/inspector-pane.js').InspectorPane} pane @param {(why: string) => void} onFailed called when the server ends later
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
  if (new URLSearchParams(location.search).has('two')) openSecond();
  fillNetemMenu(/** @type {HTMLSelectElement} */ (byId('p-net')), (text) => { byId('p-net-told').textContent = text; }, host);
  byId('p-net-row').hidden = false;
  if (host.net.error !== undefined) onNote(describeChoice(netemOf(location.search), host.net));
  // What is loaded works on without a network, also where nothing keeps files.
  if (!pane.frame) pane.load();
  keepFiles();
}

/** Lets a service worker keep all files, so that the page can also be loaded again. */
async function keepFiles() {
  try {
    await navigator.serviceWorker.register(new URL('../service-worker.js', import.meta.url));
    await navigator.serviceWorker.ready;
    byId('edition-offline').hidden = false;
  } catch {
    // There is one only over https and on this machine, and not in every private window.
  }
}
