/**
 * `tickwire.wasm`, compiled once: for this page, for the pages in it, and for its worker.
 *
 * @module wasm/module
 */

/** @type {Promise<WebAssembly.Module> | null} */
let compiled = null;

/** @returns {Promise<WebAssembly.Module>} */
export function wasmModule() {
  compiled ??= parentPage()?.module ?? compile(new URL('tickwire.wasm', import.meta.url));
  return compiled;
}

/** What the page around this one offers to those in it; `null` without one. @returns {import('./worker-host.js').WorkerHost | null} */
export function parentPage() {
  try {
    return window.parent === window ? null : /** @type {any} */ (window.parent).tickwireTab ?? null;
  } catch {
    // A page of another site is around this one.
    return null;
  }
}

/** @param {URL} url @param {typeof fetch} [get] */
export async function compile(url, get = fetch) {
  if (typeof WebAssembly !== 'object') throw new Error('This needs WebAssembly, which this browser does not have or has switched off.');
  const response = await get(url);
  if (!response.ok) throw new Error(`The file ${url.pathname.split('/').pop()} could not be loaded: status ${response.status}.`);
  // Some hosts do not know the type of such a file, and then it cannot be compiled while it comes.
  if (response.headers.get('Content-Type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}
