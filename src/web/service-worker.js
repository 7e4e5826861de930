/**
 * The service worker of the tab edition: keeps its files, so that it works without a network.
 *
 * `tab-files.js` lists the files and has a version that changes with their content. The files of a new version are loaded whole before it takes over, which it
 * does when no page of the old one is open: no page ever gets files of two versions.
 */
/// <reference lib="webworker" />

importScripts('tab-files.js');

const { version, files } = self.TAB_FILES;
const CACHE_PREFIX = `tickwire ${self.registration.scope} `;
const CACHE_NAME = CACHE_PREFIX + version;

/** @param {Cache} cache @param {string} file */
async function cacheFile(cache, file) {
  const response = await fetch(file, { cache: 'no-cache' });
  if (!response.ok) throw new Error(`${file}: ${response.status}`);
  // Some hosts lead index.html elsewhere, and a browser refuses such an answer for a page.
  const plain = response.redirected ? new Response(await response.blob(), { headers: response.headers }) : response;
  await cache.put(file, plain);
}

/** The file that a request is for; `undefined` if it is none of ours. @param {Request} request */
function fileOf(request) {
  if (request.method !== 'GET' || !request.url.startsWith(self.registration.scope)) return undefined;
  const path = new URL(request.url).pathname.slice(new URL(self.registration.scope).pathname.length);
  return [path || 'index.html', `${path}.html`].find((name) => files.includes(name));
}

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE_NAME).then((cache) => Promise.all(files.map((file) => cacheFile(cache, file)))));
});

self.addEventListener('activate', (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name.startsWith(CACHE_PREFIX) && name !== CACHE_NAME).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener('fetch', (event) => {
  const file = fileOf(event.request);
  if (!file) return;
  event.respondWith(caches.open(CACHE_NAME).then((cache) => cache.match(file)).then((kept) => kept ?? fetch(event.request)));
});
