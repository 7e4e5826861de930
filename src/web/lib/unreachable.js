/**
 * Finds the reason why a browser does not let a page reach a server. The browser only reports that
 * a request failed.
 *
 * @module lib/unreachable
 */

/** Names of the permission for local network addresses. Browsers have renamed it. */
const PERMISSIONS = ['loopback-network', 'local-network', 'local-network-access'];
/** Hosts of the same machine: RFC 6761, RFC 1122, RFC 4291. */
const LOOPBACK = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** Hosts of a local network: RFC 1918, RFC 3927, RFC 4193, RFC 4291, RFC 6762. */
const LOCAL = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|\[f[cd]|\[fe[89ab]|[^.:[]+$)|\.local$/;

/** Origins that the page's Content-Security-Policy has blocked. @type {Set<string>} */
const blocked = new Set();
globalThis.document?.addEventListener('securitypolicyviolation', ({ blockedURI }) => {
  // A blocked scheme, such as `inline`, is no URL.
  if (URL.canParse?.(blockedURI)) blocked.add(originOf(new URL(blockedURI)));
});

/** Returns the HTTP origin of a request or WebSocket address. @param {URL} url */
const originOf = (url) => `${url.protocol.replace('ws', 'http')}//${url.host}`;

/**
 * @typedef {object} Browser
 * @property {Pick<Location, 'origin' | 'protocol' | 'hostname'>} [page] location of the page;
 *   undefined outside a browser
 * @property {typeof fetch} [get]
 * @property {Permissions} [permissions]
 */

/**
 * Finds the reason why a page cannot reach a server.
 * @param {URL} url address that the server serves to every page that may play
 * @param {Browser} [browser]
 * @returns {Promise<string | null>} sentence for the player; null if the browser is not the reason
 */
export async function whyUnreachable(url, { page = globalThis.location, get = fetch, permissions = globalThis.navigator?.permissions } = {}) {
  const server = originOf(url);
  if (!page || page.origin === server) return null;
  const isReached = (/** @type {RequestInit} */ how) => get(url, { cache: 'no-store', signal: AbortSignal.timeout?.(3000), ...how }).then(() => true, () => false);
  if (await isReached({})) return null;
  const isThere = await isReached({ mode: 'no-cors' });
  // The event `securitypolicyviolation` follows the failed request.
  if (blocked.has(server)) return `The Content-Security-Policy of this page blocks ${server}: add it to connect-src.`;
  if (isThere) {
    return `The server ${server} answers, and does not allow pages of ${page.origin}: start it with --allow-origin ${page.origin}.`;
  }
  const isLoopback = LOOPBACK.test(url.hostname);
  const isLocal = (isLoopback || LOCAL.test(url.hostname)) && !LOOPBACK.test(page.hostname);
  const permission = isLocal ? await permissionOf(permissions) : null;
  const place = `${isLoopback ? 'programs on this machine' : 'the local network'}, where ${server} is`;
  if (permission === 'denied') return `The browser denies this page access to ${place}: allow it in the browser's settings of this site, and reload the page.`;
  if (permission === 'prompt') return `The browser waits for your permission to let this page access ${place}.`;
  if (page.protocol === 'https:' && url.protocol === 'http:' && !isLoopback) {
    return `This page was loaded by https, and the browser blocks ${server}, which is not: serve the game by https.`;
  }
  return null;
}

/**
 * Returns the state of the local network permission, under one of its names.
 * @param {Permissions | undefined} permissions
 */
async function permissionOf(permissions) {
  const states = PERMISSIONS.map(async (name) => (await permissions?.query({ name: /** @type {any} */ (name) }))?.state);
  const known = (await Promise.allSettled(states)).map((one) => (one.status === 'fulfilled' ? one.value : undefined));
  return known.find((state) => state === 'denied') ?? known.find((state) => state === 'prompt') ?? null;
}
