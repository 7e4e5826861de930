/**
 * Access to the elements of the page.
 *
 * @module game/hud/dom
 */

/** Returns the element with an id. @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Binds a button. After a mouse click the keyboard focus returns to the game.
 * @param {string | HTMLElement} which
 * @param {() => void} action
 */
export function onButton(which, action) {
  const button = typeof which === 'string' ? byId(which) : which;
  button.addEventListener('click', (event) => {
    if (event.detail > 0) button.blur();
    action();
  });
}

/** Sets a text if it has changed. @param {string} id @param {string} text */
export function setText(id, text) {
  const target = byId(id);
  if (target.textContent !== text) target.textContent = text;
}
