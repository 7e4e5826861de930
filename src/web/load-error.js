/**
 * Says in plain words that a file of the page could not be loaded. It is no module, so that it runs where no module does.
 */
(() => {
  /** @param {string} text */
  const say = (text) => {
    const line = document.getElementById('title-count');
    if (!line || line.classList.contains('failed')) return;
    line.textContent = text;
    line.classList.add('failed');
  };
  addEventListener('error', (event) => {
    if (!(event.target instanceof HTMLScriptElement)) return;
    say('A file of this page could not be loaded. Check the connection, and reload the page.');
  }, true);
})();
