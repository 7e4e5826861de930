/**
 * Fades the edge of a box that can be scrolled further to the right or down (`more-right` and
 * `more-below` in the style sheet).
 *
 * @module inspector/overflow-hint
 */

/**
 * Watches boxes for overflow.
 * @param {Iterable<HTMLElement>} boxes scrolling elements
 * @param {'more-right' | 'more-below'} [edge]
 */
export function markOverflow(boxes, edge = 'more-right') {
  for (const box of boxes) {
    const hasMore = () => (edge === 'more-right'
      ? box.scrollLeft + box.clientWidth < box.scrollWidth - 1
      : getComputedStyle(box).overflowY === 'auto' && box.scrollTop + box.clientHeight < box.scrollHeight - 1);
    const look = () => box.classList.toggle(edge, hasMore());
    box.addEventListener('scroll', look, { passive: true });
    const sizes = new ResizeObserver(look);
    sizes.observe(box);
    new MutationObserver(look).observe(box, { childList: true, subtree: true, characterData: true });
    look();
  }
}
