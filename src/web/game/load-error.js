/**
 * Says in plain words that a file of the page could not be loaded, or that the page cannot start in this browser. It is no module, so that it runs where
 * no module does.
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
