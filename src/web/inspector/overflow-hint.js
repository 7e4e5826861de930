/**
 * Shows that a box has more to the right: while it does, its right edge fades (`more-right` in the style sheet).
 *
 * @module inspector/overflow-hint
 */

/** @param {Iterable<HTMLElement>} boxes that scroll sideways */
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
