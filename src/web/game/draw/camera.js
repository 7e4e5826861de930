/**
 * The window onto the world: which part is shown, and how large.
 *
 * @module game/draw/camera
 */

/** Largest part of the world that is ever shown, px. The server tells what lies within it and a margin. */
const VIEW_WIDTH = 1920;
const VIEW_HEIGHT = 1080;
/** Sharpness beyond this costs frames and is not seen. */
const MAX_RATIO = 2;
/** Time in which a camera that follows somebody else makes up most of its way. */
const FOLLOW_MS = 220;
/** Part of the window's height by which whom the dead look at is above its middle, where the card is. The server tells just so much. */
const DEATH_CARD_OFFSET = 0.15;
/** Farther away than this the camera cuts instead of travelling. */
const SNAP_PX = 2400;

export class Camera {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.x = 7200;
    this.y = 7200;
    /** CSS pixels of the game's part of the window. */
    this.width = 1;
    this.height = 1;
    /** Device pixels for one CSS pixel. */
    this.ratio = 1;
    /** CSS pixels for one world px. */
    this.zoom = 1;
    /** Device pixels for one world px. */
    this.scale = 1;
    this.placed = false;
  }

  /** Takes the size of the game's part of the window as it is; cheap when nothing has changed, so it is called each frame. */
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
   * Goes where somebody is.
   * @param {number} x px @param {number} y px
   * @param {number} elapsedMs since the last frame
   * @param {boolean} isLocked true to stay exactly on it, false to follow softly
   * @param {boolean} [lifted] true to have it above the middle
   */
  follow(x, y, elapsedMs, isLocked, lifted = false) {
    if (lifted) y += (DEATH_CARD_OFFSET * this.height) / this.zoom;
    const far = Math.hypot(x - this.x, y - this.y) > SNAP_PX;
    const part = isLocked || far || !this.placed ? 1 : 1 - Math.exp(-elapsedMs / FOLLOW_MS);
    this.x += (x - this.x) * part;
    this.y += (y - this.y) * part;
    this.placed = true;
  }

  /** World coordinates for what is drawn next. @param {CanvasRenderingContext2D} ctx */
  apply(ctx) {
    const { scale } = this;
    ctx.setTransform(scale, 0, 0, scale, this.canvas.width / 2 - this.x * scale, this.canvas.height / 2 - this.y * scale);
  }

  /** The part of the world in view, px. */
  get view() {
    const halfWidth = this.width / 2 / this.zoom;
    const halfHeight = this.height / 2 / this.zoom;
    return { left: this.x - halfWidth, top: this.y - halfHeight, right: this.x + halfWidth, bottom: this.y + halfHeight };
  }

  /** Whether a disc is at least partly in view. @param {number} x @param {number} y @param {number} radius px */
  sees(x, y, radius) {
    return Math.abs(x - this.x) - radius < this.width / 2 / this.zoom
      && Math.abs(y - this.y) - radius < this.height / 2 / this.zoom;
  }

  /** Where a point of the world is in the window, CSS pixels. @param {number} x @param {number} y */
  toScreen(x, y) {
    return { x: this.width / 2 + (x - this.x) * this.zoom, y: this.height / 2 + (y - this.y) * this.zoom };
  }
}
