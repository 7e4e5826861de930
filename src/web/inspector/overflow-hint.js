/**
 * Fades the right edge of a box that can be scrolled further to the right (`more-right` in the
 * style sheet).
 *
 * @module inspector/overflow-hint
 */

/**
 * Watches boxes for overflow.
 * @param {Iterable<HTMLElement>} boxes horizontally scrolling elements
 */
export function markOverflow(boxes) {
  for (const box of boxes) {
    const look = () => box.classList.toggle('more-right', box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.addEventListener('scroll', look, { passive: true });
    const sizes = new ResizeObserver(look);
    sizes.observe(box);
    new MutationObserver(look).observe(box, { childList: true, subtree: true, characterData: true });
    look();
  }
}
