/**
 * Reports that a file of the page failed to load or that the page cannot start in this browser. It
 * is a classic script, so that it also runs where modules do not.
 */
(() => {
  /** @param {string} text */
  const say = (text) => {
    const line = /** @type {HTMLElement | null} */ (document.querySelector('[data-start]'));
    if (!line || line.classList.contains('failed') || line.textContent !== line.dataset.start) return;
    line.textContent = text;
    line.classList.add('failed');
  };
  /** @param {unknown} error */
  const cannot = (error) => {
    const why = document.createElement('canvas').getContext('2d') ? error instanceof Error ? error.message : String(error) : 'it has no canvas, or blocks it';
    say(`This page cannot start in this browser: ${why}`);
  };
  addEventListener('error', (event) => {
    if (event.target instanceof HTMLScriptElement) say('A file of this page could not be loaded. Check the connection, and reload the page.');
    else if (event instanceof ErrorEvent) cannot(event.error ?? event.message);
  }, true);
  addEventListener('unhandledrejection', (event) => cannot(event.reason));
})();
