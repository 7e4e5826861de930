/**
 * Opens a capture that is selected with a button or dropped on the page. The file stays in the
 * browser.
 *
 * @module inspector/open-file
 */

import { Explainer } from './explainer.js';
import { openInSlices } from './work-slices.js';

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/**
 * @typedef {{ name: string, explainer: Explainer, about: import('./explainer.js').About }} Opened
 */

/** @typedef {(opened: Opened) => void} Take */
/** File that is being opened. Opening another file cancels it. @type {File | null} */
let opening = null;
let onCapture = (/** @type {Take} */ _) => {};
const handlerReady = /** @type {Promise<Take>} */ (new Promise((resolve) => { onCapture = resolve; }));

/**
 * Sets the handler of opened captures. A capture opened earlier is passed to it at once.
 * @param {Take} take
 */
export function acceptFiles(take) {
  onCapture(take);
}

function listen() {
  const chosen = byId('file');
  byId('open').onclick = () => chosen.click();
  chosen.onchange = () => {
    const [file] = chosen.files ?? [];
    if (file) open(file);
    // Allows selecting the same file again.
    chosen.value = '';
  };
  byId('file-error-close').onclick = () => showOpenError('');
  byId('file-opening-cancel').onclick = () => { opening = null; showProgress(''); };
  document.addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) document.body.classList.remove('dropping');
  });
  document.addEventListener('drop', (event) => {
    document.body.classList.remove('dropping');
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    open(file);
  });
}

/** Opens a capture file. @param {File} file */
export async function open(file) {
  showOpenError('');
  opening = file;
  const isCancelled = () => opening !== file;
  try {
    // Each file has its own instance, so that its memory is freed.
    const explainer = await Explainer.load();
    if (file.size > explainer.maxFileBytes) explainer.reserveFileInput(file.size);
    explainer.setFileInput(new Uint8Array(await file.arrayBuffer()));
    const onProgress = (/** @type {number} */ percent) => showProgress(`Opening ${file.name}: ${percent} %`);
    const about = isCancelled() ? null : await openInSlices(explainer, { isCancelled, onProgress });
    const take = await handlerReady;
    if (about && !isCancelled()) take({ name: file.name, explainer, about });
  } catch (error) {
    if (!isCancelled()) showOpenError(`${file.name}: ${error instanceof Error ? error.message : error}`);
  }
  if (!isCancelled()) showProgress('');
}

/** Shows the progress. @param {string} text '' hides it */
function showProgress(text) {
  byId('file-opening').hidden = text === '';
  byId('file-opening-text').textContent = text;
}

/** Shows an error; '' hides it. @param {string} why */
export function showOpenError(why) {
  byId('file-error').hidden = why === '';
  byId('file-error-text').textContent = why;
}

/** Offers a file as a download. @param {Uint8Array} bytes @param {string} name */
export function download(bytes, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([/** @type {BlobPart} */ (bytes)], { type: 'application/x-pcapng' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// Listens before the explainer is loaded, because a dropped file would otherwise replace the page.
listen();
