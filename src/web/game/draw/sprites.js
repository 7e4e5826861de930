/**
 * Font of the drawn world, and a cache of pictures that are drawn once and shown often. A picture
 * has the resolution of the screen, so a change of the scale clears the cache.
 *
 * @module game/draw/sprites
 */

export class Sprites {
  /**
   * @param {number} limit maximum number of pictures; a further picture removes the least recently
   *   used one
   */
  constructor(limit) {
    this.limit = limit;
    this.scale = 0;
    /**
     * @type {Map<string, { image: HTMLCanvasElement, left: number, top: number, width: number,
     *   height: number }>}
     */
    this.made = new Map();
  }

  /**
   * Returns the picture of a key, drawn by `draw` if it is missing.
   * @param {string} key
   * @param {number} scale device px for each unit of `draw`
   * @param {() => { left: number, top: number, width: number, height: number }} cover bounds of
   *   `draw`, in its units
   * @param {(ctx: CanvasRenderingContext2D) => void} draw
   */
  get(key, scale, cover, draw) {
    if (scale !== this.scale) {
      this.made.clear();
      this.scale = scale;
    }
    let sprite = this.made.get(key);
    if (sprite) {
      // A map keeps the insertion order, so the used entry moves to the end.
      this.made.delete(key);
      this.made.set(key, sprite);
      return sprite;
    }
    const box = cover();
    const image = document.createElement('canvas');
    image.width = Math.ceil(box.width * scale);
    image.height = Math.ceil(box.height * scale);
    const ctx = /** @type {CanvasRenderingContext2D} */ (image.getContext('2d'));
    ctx.setTransform(scale, 0, 0, scale, -box.left * scale, -box.top * scale);
    ctx.lineJoin = 'round';
    ctx.lineCap = 'round';
    draw(ctx);
    sprite = { image, left: box.left, top: box.top, width: image.width / scale, height: image.height / scale };
    this.made.set(key, sprite);
    if (this.made.size > this.limit) this.made.delete(/** @type {string} */ (this.made.keys().next().value));
    return sprite;
  }

  /** Whether a picture is cached. @param {string} key @param {number} scale */
  has(key, scale) {
    return scale === this.scale && this.made.has(key);
  }

  /**
   * Draws a picture with its origin at a point.
   * @param {CanvasRenderingContext2D} ctx
   * @param {{ image: HTMLCanvasElement, left: number, top: number, width: number, height: number }}
   *   sprite
   * @param {number} x
   * @param {number} y
   */
  static show(ctx, sprite, x, y) {
    ctx.drawImage(sprite.image, x + sprite.left, y + sprite.top, sprite.width, sprite.height);
  }
}

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
