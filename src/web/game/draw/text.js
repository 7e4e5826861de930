/**
 * Font of the drawn world, and the width of a text in it.
 *
 * @module game/draw/text
 */

export const FONT = '"Trebuchet MS", "Segoe UI", "DejaVu Sans", Verdana, sans-serif';

/** Context for measuring, created at the first use. @type {CanvasRenderingContext2D | null} */
let ruler = null;

/**
 * Returns the width of a text, px.
 * @param {string} text
 * @param {string} font
 * @returns {number} px
 */
export function measure(text, font) {
  ruler ??= /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  ruler.font = font;
  return ruler.measureText(text).width;
}
