/**
 * What the game's page does in the tab edition only: it starts the server, says what this is, and keeps what it needs for when there is no network.
 *
 * @module tab-page
 */

import { EDITION } from './edition.js';
import { element } from './hud.js';
import { tabHost } from './tab-host.js';
import { offerNet } from './tab-net.js';

/**
 * Fulfilled when there is a server to connect to; fails with a sentence for the reader.
 * @param {import('./pane.js').Pane} pane @param {(why: string) => void} onFailed called when the server ends later
 */
export async function begin(pane, onFailed) {
  if (EDITION !== 'tab') return;
  const host = tabHost();
  Object.defineProperty(window, 'tickwireTab', { value: host });
  host.addEventListener('failed', () => onFailed(host.failed));
  element('edition-bots').textContent = String(host.bots);
  element('title-edition').hidden = false;
  await host.ready;
  offerNet(/** @type {HTMLSelectElement} */ (element('p-net')), (text) => { element('p-net-told').textContent = text; }, host);
  element('p-net-row').hidden = false;
  // What is loaded works on without a network, also where nothing keeps files.
  if (!pane.frame) pane.load();
  keepFiles();
}

/** Lets a service worker keep all files, so that the page can also be loaded again. */
async function keepFiles() {
  try {
    await navigator.serviceWorker.register(new URL('tab-cache.js', import.meta.url));
    await navigator.serviceWorker.ready;
    element('edition-offline').hidden = false;
  } catch {
    // There is one only over https and on this machine, and not in every private window.
  }
}
