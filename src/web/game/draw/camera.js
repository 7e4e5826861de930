/**
 * Camera: the visible part of the world and its zoom.
 *
 * @module game/draw/camera
 */

/** Maximum width of the visible part of the world, px. The server sends this area and a margin. */
const VIEW_WIDTH = 1920;
/** Maximum height of the visible part of the world, px. */
const VIEW_HEIGHT = 1080;
/** Maximum device pixel ratio. More costs frames without a visible effect. */
const MAX_RATIO = 2;
/** Time constant with which the camera follows a spectated player, ms. */
const FOLLOW_MS = 220;
/**
 * Distance above the centre at which the camera target is shown after a death, as a fraction of the
 * window height. The death card covers the centre.
 */
const DEATH_CARD_OFFSET = 0.15;
/** Distance to the target beyond which the camera jumps to it, px. */
const SNAP_PX = 2400;

export class Camera {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.x = 7200;
    this.y = 7200;
    /** Size of the game's part of the window, CSS px. */
    this.width = 1;
    this.height = 1;
    /** Device px for each CSS px. */
    this.ratio = 1;
    /** CSS px for each px of the world. */
    this.zoom = 1;
    /** Device px for each px of the world. */
    this.scale = 1;
    this.placed = false;
  }

  /** Adapts to the size of the game's part of the window. Called once per frame. */
  fit() {
    const ratio = Math.min(MAX_RATIO, devicePixelRatio || 1);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.width === width && this.height === height && this.ratio === ratio) return;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.zoom = Math.max(this.width / VIEW_WIDTH, this.height / VIEW_HEIGHT);
    this.scale = this.zoom * ratio;
  }

  /**
   * Follows a position.
   * @param {number} x px
   * @param {number} y px
   * @param {number} elapsedMs since the last frame
   * @param {boolean} isLocked true to stay on the position, false to ease towards it
   * @param {boolean} [lifted] true to keep the position above the centre
   */
  follow(x, y, elapsedMs, isLocked, lifted = false) {
    if (lifted) y += (DEATH_CARD_OFFSET * this.height) / this.zoom;
    const far = Math.hypot(x - this.x, y - this.y) > SNAP_PX;
    const part = isLocked || far || !this.placed ? 1 : 1 - Math.exp(-elapsedMs / FOLLOW_MS);
    this.x += (x - this.x) * part;
    this.y += (y - this.y) * part;
    this.placed = true;
  }

  /** Sets the transform to world coordinates. @param {CanvasRenderingContext2D} ctx */
  apply(ctx) {
    const { scale } = this;
    ctx.setTransform(scale, 0, 0, scale, this.canvas.width / 2 - this.x * scale, this.canvas.height / 2 - this.y * scale);
  }

  /** Visible part of the world, px. */
  get view() {
    const halfWidth = this.width / 2 / this.zoom;
    const halfHeight = this.height / 2 / this.zoom;
    return { left: this.x - halfWidth, top: this.y - halfHeight, right: this.x + halfWidth, bottom: this.y + halfHeight };
  }

  /**
   * Whether a disc is at least partly visible.
   * @param {number} x
   * @param {number} y
   * @param {number} radius px
   */
  sees(x, y, radius) {
    return Math.abs(x - this.x) - radius < this.width / 2 / this.zoom
      && Math.abs(y - this.y) - radius < this.height / 2 / this.zoom;
  }

  /** Converts a point of the world to CSS px of the window. @param {number} x @param {number} y */
  toScreen(x, y) {
    return { x: this.width / 2 + (x - this.x) * this.zoom, y: this.height / 2 + (y - this.y) * this.zoom };
  }
}
