/**
 * Menu of network conditions: delay, jitter, loss and rate of a simulated network between the page
 * and its server. The model runs in the server worker or in `lib/netem.js`. The address contains
 * the choice: `?netem=wifi`, or `?netem=delay=150ms,loss=2%`.
 *
 * @module lib/netem-menu
 */

import { netemOf } from '../wasm/worker-host.js';

/**
 * Current network conditions with all their values, or an error.
 * @typedef {{ net?: string, error?: string }} NetemResult
 */

/**
 * Replaces or removes one parameter of a query.
 * @param {string} search
 * @param {string} name
 * @param {string | null} part parameter with its name; null removes it
 */
export function withQueryParam(search, name, part) {
  const others = search.slice(1).split('&').filter((other) => other !== '' && other.split('=')[0] !== name);
  const all = [...(part === null ? [] : [part]), ...others].join('&');
  return all === '' ? '' : `?${all}`;
}

/**
 * Describes network conditions. Conditions without effect are omitted.
 * @param {string} net conditions such as `delay=14ms,loss=0.1%,rate-up=125kB`
 */
function describeConditions(net) {
  const figures = net.split(',').filter((figure) => !/=(0ms|0%|none)$/.test(figure));
  return figures.map((figure) => figure.replace('=', ' ').replace('rate-', 'rate ').replace(/(\d)(ms|[kM]B)$/, '$1 $2').replace(/B$/, 'B/s')).join(', ');
}

/**
 * Describes the chosen conditions in a sentence.
 * @param {string} chosen
 * @param {NetemResult} result
 * @param {string} about description of the preset
 */
export function describeChoice(chosen, { net = '', error }, about = '') {
  if (error !== undefined) return `No such network: ${error}.`;
  if (chosen === '' || describeConditions(net) === '') return 'Choose a line to simulate between this page and its server.';
  const what = about === '' ? 'Simulated' : about[0].toUpperCase() + about.slice(1);
  return `${what}. Each way: ${describeConditions(net)}.`;
}

/**
 * Fills the menu with the presets and applies a choice. The choice is stored in the address, so
 * that it lasts over a reload and is part of a copied link.
 * @param {HTMLSelectElement} select
 * @param {(text: string) => void} showText shows the description of the choice
 * @param {{ presets: { name: string, about: string }[], net: NetemResult, setNetem: (text: string)
 *   => Promise<NetemResult> }} host server worker or simulated network
 */
export function fillNetemMenu(select, showText, host) {
  const asked = netemOf(location.search);
  const named = host.presets.some(({ name }) => name === asked);
  const others = named || asked === '' ? [] : [asked];
  const option = (/** @type {string} */ value, text = value) => Object.assign(document.createElement('option'), { value, textContent: text });
  select.replaceChildren(option('', 'as it is'), ...host.presets.map(({ name }) => option(name)), ...others.map((text) => option(text)));
  select.value = asked;
  const show = (/** @type {NetemResult} */ result) => showText(describeChoice(select.value, result, host.presets.find(({ name }) => name === select.value)?.about));
  show(host.net);
  select.addEventListener('change', async () => {
    const part = select.value === '' ? null : `netem=${select.value.replaceAll('%', '%25')}`;
    history.replaceState(null, '', withQueryParam(location.search, 'netem', part) || location.pathname);
    // Returns the keyboard focus to the game.
    select.blur();
    show(await host.setNetem(select.value));
  });
}
