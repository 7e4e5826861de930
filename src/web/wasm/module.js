/**
 * Compiles `tickwire.wasm` once for this page, its iframes and its worker.
 *
 * @module wasm/module
 */

/** @type {Promise<WebAssembly.Module> | null} */
let compiled = null;

/** Loads and compiles the module once. @returns {Promise<WebAssembly.Module>} */
export function wasmModule() {
  compiled ??= parentPage()?.module ?? compile(new URL('tickwire.wasm', import.meta.url));
  return compiled;
}

/** @typedef {Window & { tickwireTab?: import('./worker-host.js').WorkerHost }} ParentWindow */

/**
 * Returns the worker host of the parent page; null without a parent page that has one.
 * @returns {import('./worker-host.js').WorkerHost | null}
 */
export function parentPage() {
  try {
    return window.parent === window ? null : /** @type {ParentWindow} */ (window.parent).tickwireTab ?? null;
  } catch {
    // The parent page belongs to another site.
    return null;
  }
}

/** Fetches and compiles a WebAssembly module. @param {URL} url @param {typeof fetch} [get] */
export async function compile(url, get = fetch) {
  return compileResponse(await request(url, get));
}

/**
 * Fetches and compiles a WebAssembly module, if it is another one than before.
 * @param {URL} url
 * @param {string | null} tag entity tag of the module before; null without one
 * @returns {Promise<{ module: WebAssembly.Module, tag: string | null } | null>} null for the same
 *   module
 */
export async function compileChanged(url, tag) {
  const response = await request(url, fetch);
  const newTag = response.headers.get('ETag');
  if (tag !== null && tag === newTag) {
    await response.body?.cancel();
    return null;
  }
  return { module: await compileResponse(response), tag: newTag };
}

/** @param {URL} url @param {typeof fetch} get */
async function request(url, get) {
  if (typeof WebAssembly !== 'object') throw new Error('This needs WebAssembly, which this browser does not have or has switched off.');
  const response = await get(url);
  if (!response.ok) throw new Error(`The file ${url.pathname.split('/').pop()} could not be loaded: status ${response.status}.`);
  return response;
}

/** @param {Response} response */
async function compileResponse(response) {
  // Streaming compilation needs the right content type, which some hosts do not send.
  if (response.headers.get('Content-Type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}
