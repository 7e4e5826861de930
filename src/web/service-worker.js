/**
 * Service worker of the browser edition. It caches the files, so that the page works offline.
 *
 * `tab-files.js` lists the files and their version. A new version is cached completely before it
 * takes over. It takes over when no page of the old version is open. A page never mixes files of
 * two versions.
 */

importScripts('tab-files.js');

/** @typedef {{ version: string, files: string[] }} CachedFiles */
const scope = /** @type {ServiceWorkerGlobalScope & { TAB_FILES: CachedFiles }} */ (/** @type {any} */ (self));
const { version, files } = scope.TAB_FILES;
const CACHE_PREFIX = `tickwire ${scope.registration.scope} `;
const CACHE_NAME = CACHE_PREFIX + version;

/** @param {Cache} cache @param {string} file */
async function cacheFile(cache, file) {
  const response = await fetch(file, { cache: 'no-cache' });
  if (!response.ok) throw new Error(`${file}: ${response.status}`);
  // Some hosts redirect index.html, and browsers refuse a redirected response for a page.
  const plain = response.redirected ? new Response(await response.blob(), { headers: response.headers }) : response;
  await cache.put(file, plain);
}

/**
 * Returns the name of the cached file for a request; undefined if there is none.
 * @param {Request} request
 */
function fileOf(request) {
  if (request.method !== 'GET' || !request.url.startsWith(scope.registration.scope)) return undefined;
  const path = new URL(request.url).pathname.slice(new URL(scope.registration.scope).pathname.length);
  return [path || 'index.html', `${path}.html`].find((name) => files.includes(name));
}

scope.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE_NAME).then((cache) => Promise.all(files.map((file) => cacheFile(cache, file)))));
});

scope.addEventListener('activate', (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name.startsWith(CACHE_PREFIX) && name !== CACHE_NAME).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => scope.clients.claim()));
});

scope.addEventListener('fetch', (event) => {
  const file = fileOf(event.request);
  if (!file) return;
  event.respondWith(caches.open(CACHE_NAME).then((cache) => cache.match(file)).then((kept) => kept ?? fetch(event.request)));
});
