// The boxes of what a page shows, and which of them overlap.

/** @typedef {{ name: string, x: number, y: number, right: number, bottom: number }} Box */

/**
 * The boxes of all visible elements of some selectors, cut where an ancestor that scrolls cuts them. A box is named by its selector, and from the
 * second one on with a number.
 * @param {import('playwright-core').Page | import('playwright-core').Frame} page @param {string[]} selectors @returns {Promise<Box[]>}
 */
export function boxesOf(page, selectors) {
  return page.evaluate((all) => all.flatMap((selector) => [...document.querySelectorAll(selector)]
    .filter((element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .map((element, at) => {
      let { left: x, top: y, right, bottom } = element.getBoundingClientRect();
      for (let parent = element.parentElement; parent && parent !== document.body; parent = parent.parentElement) {
        if (getComputedStyle(parent).overflow === 'visible') continue;
        const cut = parent.getBoundingClientRect();
        [x, y, right, bottom] = [Math.max(x, cut.left), Math.max(y, cut.top), Math.min(right, cut.right), Math.min(bottom, cut.bottom)];
      }
      return { name: at === 0 ? selector : `${selector} ${at + 1}`, x, y, right, bottom };
    })
    .filter(({ x, y, right, bottom }) => right - x > 1 && bottom - y > 1)), selectors);
}

/** What is not whole within a width and a height. @param {Box[]} boxes @param {{ width: number, height: number }} size */
export function outside(boxes, { width, height }) {
  return boxes.filter(({ x, y, right, bottom }) => x < -0.5 || y < -0.5 || right > width + 0.5 || bottom > height + 0.5)
    .map(({ name, x, y, right, bottom }) => `${name} at ${[x, y, right, bottom].map(Math.round)} is not within ${width} × ${height}`);
}

/** The pairs that overlap by more than a pixel. @param {Box[]} boxes @param {(one: string, other: string) => boolean} [may] whether two may */
export function overlaps(boxes, may = () => false) {
  const found = [];
  boxes.forEach((one, at) => boxes.slice(at + 1).forEach((other) => {
    const wide = Math.min(one.right, other.right) - Math.max(one.x, other.x);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.y, other.y);
    if (wide > 1 && high > 1 && !may(one.name, other.name)) found.push(`${one.name} × ${other.name} by ${Math.round(wide)} × ${Math.round(high)} px`);
  }));
  return found;
}
