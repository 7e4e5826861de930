/**
 * Pictures that are drawn once and shown often. Each is made at the sharpness of the screen; when that changes, all
 * are made anew.
 *
 * @module game/draw/sprites
 */

export class Sprites {
  /** @param {number} limit pictures kept; beyond, the one that was shown longest ago goes */
  constructor(limit) {
    this.limit = limit;
    this.scale = 0;
    /** @type {Map<string, { image: HTMLCanvasElement, left: number, top: number, width: number, height: number }>} */
    this.made = new Map();
  }

  /**
   * The picture of that key, made by `draw` if there is none.
   *
   * @param {string} key
   * @param {number} scale device pixels for one unit of `draw`
   * @param {() => { left: number, top: number, width: number, height: number }} cover what `draw` covers, in its units
   * @param {(ctx: CanvasRenderingContext2D) => void} draw
   */
  get(key, scale, cover, draw) {
    if (scale !== this.scale) {
      this.made.clear();
      this.scale = scale;
    }
    let sprite = this.made.get(key);
    if (sprite) {
      // A map keeps the order of insertion: what is shown goes to its end.
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

  /** Whether a picture is there already. @param {string} key @param {number} scale */
  has(key, scale) {
    return scale === this.scale && this.made.has(key);
  }

  /**
   * Shows a picture with its origin at a point.
   * @param {CanvasRenderingContext2D} ctx
   * @param {{ image: HTMLCanvasElement, left: number, top: number, width: number, height: number }} sprite
   * @param {number} x @param {number} y
   */
  static show(ctx, sprite, x, y) {
    ctx.drawImage(sprite.image, x + sprite.left, y + sprite.top, sprite.width, sprite.height);
  }
}
