/**
 * The choice of network conditions: between the page and its server a line with delay, jitter, loss and a limited rate can be simulated. The server in
 * the tab has the model and the names, or else `lib/netem.js`; the address says what is chosen: `?net=wifi`, or `?net=delay=150ms,loss=2%`.
 *
 * @module lib/netem-menu
 */

import { netemOf } from '../wasm/worker-host.js';

/** What the server says of conditions: all their figures, or why there are none. @typedef {{ net?: string, error?: string }} NetemResult */

/**
 * The query of an address with one part replaced, or left out; all others as they are.
 * @param {string} search @param {string} name @param {string | null} part with its name; `null` for none
 */
export function withQueryParam(search, name, part) {
  const others = search.slice(1).split('&').filter((other) => other !== '' && other.split('=')[0] !== name);
  const all = [...(part === null ? [] : [part]), ...others].join('&');
  return all === '' ? '' : `?${all}`;
}

/** Conditions in words, without those that change nothing. @param {string} net such as `delay=14ms,loss=0.1%,rate-up=125kB` */
function describeConditions(net) {
  const figures = net.split(',').filter((figure) => !/=(0ms|0%|none)$/.test(figure));
  return figures.map((figure) => figure.replace('=', ' ').replace('rate-', 'rate ').replace(/(\d)(ms|[kM]B)$/, '$1 $2').replace(/B$/, 'B/s')).join(', ');
}

/** A sentence about conditions. @param {string} chosen @param {NetemResult} result @param {string} about what a preset is */
export function describeChoice(chosen, { net = '', error }, about = '') {
  if (error !== undefined) return `No such network: ${error}.`;
  if (chosen === '' || describeConditions(net) === '') return 'Choose a line to simulate between this page and its server.';
  const what = about === '' ? 'Simulated' : about[0].toUpperCase() + about.slice(1);
  return `${what}. Each way: ${describeConditions(net)}.`;
}

/**
 * Fills a list with the conditions that there are, and applies what is chosen. The address says it, so that a reload and a link keep it.
 * @param {HTMLSelectElement} select @param {(text: string) => void} showText shows a sentence about what is chosen
 * @param {{ presets: { name: string, about: string }[], net: NetemResult, setNetem: (text: string) => Promise<NetemResult> }} host the server in the tab, or a line
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
    const part = select.value === '' ? null : `net=${select.value.replaceAll('%', '%25')}`;
    history.replaceState(null, '', withQueryParam(location.search, 'net', part) || location.pathname);
    // The keyboard belongs to the game.
    select.blur();
    show(await host.setNetem(select.value));
  });
}
