/**
 * Draws trees, bushes, rocks and gold. Each kind has four shapes and variants by biome. The id
 * selects the shape, so that all pages draw the same picture.
 *
 * @module game/draw/scenery
 */

import { biomeAt, mix, outlineOf, sequence } from '../rules/palette.js';
import { Sprites } from './sprites.js';

const SHAPES = 4;
const OUTLINE = 6;
const SHADOW = 'rgb(40 36 60 / 0.17)';
const SHADOW_X = 9;
const SHADOW_Y = 13;

const LEAVES = {
  grass: { low: '#4f8f4a', high: '#69aa58', glow: '#8cc470' },
  river: { low: '#4f8f4a', high: '#69aa58', glow: '#8cc470' },
  snow: { low: '#4c7f77', high: '#dfeaf0', glow: '#ffffff' },
  desert: { low: '#7d9a3e', high: '#9bb34d', glow: '#bccb6d' },
};

/** @typedef {import('../rules/palette.js').Biome} Biome */
/** @typedef {import('../rules/palette.js').Random} Random */
/** @typedef {'whole' | 'skirt' | 'crown'} Layer */
/**
 * Traces a path, scaled and moved.
 * @typedef {(part: number, dx: number, dy: number) => void} Trace
 */

const sprites = new Sprites(72);
const off = { x: 0, y: 0 };

/**
 * Provides the offset of a shaking object.
 * @typedef {{ offset: (id: number, nowMs: number, out: { x: number, y: number }) => { x: number, y:
 *   number } }} Shaking
 */

/**
 * Draws the ground layer, below the players: rocks and gold.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {Iterable<import('../world/world.js').Thing>} things
 * @param {number} mapSize
 * @param {Shaking} shaking
 * @param {number} nowMs
 */
export function drawLow(ctx, camera, things, mapSize, shaking, nowMs) {
  for (const thing of things) {
    if (thing.kind < 2 || !camera.sees(thing.x, thing.y, thing.scale + 30)) continue;
    shaking.offset(thing.id, nowMs, off);
    Sprites.show(ctx, picture(thing, camera.scale, mapSize, 'whole'), thing.x + off.x, thing.y + off.y);
  }
}

/**
 * Draws the layer above the players: bushes and trees with swaying crowns. An object above the
 * player at `below` is translucent.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {Iterable<import('../world/world.js').Thing>} things
 * @param {number} mapSize
 * @param {number} seconds
 * @param {{ x: number, y: number } | undefined} below position of the player that must stay visible
 * @param {Shaking} shaking
 * @param {number} nowMs
 */
export function drawHigh(ctx, camera, things, mapSize, seconds, below, shaking, nowMs) {
  for (const kind of [1, 0]) {
    for (const thing of things) {
      if (thing.kind !== kind || !camera.sees(thing.x, thing.y, thing.scale + 40)) continue;
      const covered = below && Math.hypot(below.x - thing.x, below.y - thing.y) < thing.scale + 30;
      shaking.offset(thing.id, nowMs, off);
      ctx.globalAlpha = covered ? 0.58 : 1;
      Sprites.show(ctx, picture(thing, camera.scale, mapSize, kind === 0 ? 'skirt' : 'whole'), thing.x + off.x, thing.y + off.y);
      if (kind === 0) {
        // The crown sways, and moves more than the lower leaves when the tree shakes.
        const sway = Math.sin(seconds * 0.9 + thing.id * 1.7) * 2.4 + off.x * 1.7;
        const crown = picture(thing, camera.scale, mapSize, 'crown');
        Sprites.show(ctx, crown, thing.x + sway, thing.y + Math.cos(seconds * 0.7 + thing.id) * 1.4 + off.y * 1.7);
      }
      ctx.globalAlpha = 1;
    }
  }
}

/**
 * Returns the picture of an object or of one of its layers.
 * @param {import('../world/player.js').Thing} thing @param {number} scale @param {number} mapSize
 * @param {Layer} layer
 */
function picture(thing, scale, mapSize, layer) {
  const shape = thing.id % SHAPES;
  const biome = biomeAt(thing.y, mapSize);
  const reach = thing.scale + 34;
  const cover = () => ({ left: -reach, top: -reach, width: 2 * reach, height: 2 * reach });
  return sprites.get(`${thing.kind}:${thing.scale}:${shape}:${biome}:${layer}`, scale, cover, (ctx) => {
    const random = sequence(shape + 1, thing.kind * 31 + 5);
    if (thing.kind === 0) tree(ctx, thing.scale, random, biome, layer);
    else if (thing.kind === 1) bush(ctx, thing.scale, random, biome);
    else rock(ctx, thing.scale, random, biome, thing.kind === 3);
  });
}

/**
 * Traces a closed line through points on a circle, bulging between them.
 * @param {CanvasRenderingContext2D} ctx @param {number} radius @param {number} count
 * @param {number} depth @param {number} turn @param {Random} random
 */
function lobes(ctx, radius, count, depth, turn, random) {
  ctx.beginPath();
  const inner = radius * (1 - depth);
  for (let i = 0; i <= count; i++) {
    const angle = turn + (i / count) * 2 * Math.PI;
    const x = inner * Math.cos(angle);
    const y = inner * Math.sin(angle);
    if (i === 0) {
      ctx.moveTo(x, y);
      continue;
    }
    const middle = angle - Math.PI / count;
    const bulge = radius * (1 + depth * 0.9) * (1 + (random() - 0.5) * 0.07);
    ctx.quadraticCurveTo(bulge * Math.cos(middle), bulge * Math.sin(middle), x, y);
  }
  ctx.closePath();
}

/**
 * Traces a star with pointed arms: a fir or a palm from above.
 * @param {CanvasRenderingContext2D} ctx @param {number} radius @param {number} count
 * @param {number} depth @param {number} turn @param {Random} random
 */
function spikes(ctx, radius, count, depth, turn, random) {
  const inner = radius * (1 - depth);
  const half = Math.PI / count;
  ctx.beginPath();
  ctx.moveTo(inner * Math.cos(turn - half), inner * Math.sin(turn - half));
  for (let i = 0; i < count; i++) {
    const angle = turn + 2 * half * i;
    const tip = radius * (1 + (random() - 0.5) * 0.12);
    const before = angle - half * 0.36;
    const after = angle + half * 0.36;
    const gap = angle + half;
    ctx.quadraticCurveTo(tip * 0.78 * Math.cos(before), tip * 0.78 * Math.sin(before), tip * Math.cos(angle), tip * Math.sin(angle));
    ctx.quadraticCurveTo(tip * 0.78 * Math.cos(after), tip * 0.78 * Math.sin(after), inner * Math.cos(gap), inner * Math.sin(gap));
  }
  ctx.closePath();
}

/**
 * Fills the current path, lights it from the top left, and outlines it.
 * @param {CanvasRenderingContext2D} ctx @param {string} fill @param {string} light
 * @param {number} radius
 */
function solid(ctx, fill, light, radius, line = outlineOf(fill)) {
  ctx.fillStyle = fill;
  ctx.fill();
  ctx.save();
  ctx.clip();
  const gradient = ctx.createRadialGradient(-radius * 0.45, -radius * 0.5, radius * 0.1, -radius * 0.3, -radius * 0.35, radius * 1.15);
  gradient.addColorStop(0, light);
  gradient.addColorStop(1, `${light}00`);
  ctx.fillStyle = gradient;
  ctx.fillRect(-2 * radius, -2 * radius, 4 * radius, 4 * radius);
  ctx.restore();
  ctx.strokeStyle = line;
  ctx.lineWidth = OUTLINE;
  ctx.stroke();
}

/**
 * Draws the shadow of the shape that `trace` traces.
 * @param {CanvasRenderingContext2D} ctx @param {() => void} trace
 */
function shadow(ctx, trace) {
  ctx.save();
  ctx.translate(SHADOW_X, SHADOW_Y);
  trace();
  ctx.fillStyle = SHADOW;
  ctx.fill();
  ctx.restore();
}

/**
 * Draws one layer of a tree: its lower leaves or its crown. Two pictures let the crown sway.
 * @param {CanvasRenderingContext2D} ctx @param {number} scale @param {Random} random
 * @param {Biome} biome @param {Layer} layer
 */
function tree(ctx, scale, random, biome, layer) {
  const leaves = LEAVES[biome];
  const pointed = biome === 'snow' || biome === 'desert';
  const skirt = layer === 'skirt';
  const count = (biome === 'snow' ? 12 : pointed ? 9 : 10) + Math.floor(random() * 2);
  const turn = random() * 2;
  const seed = Math.floor(random() * 1e6);
  const depth = biome === 'desert' ? 0.44 : pointed ? 0.24 : 0.15;
  const shape = pointed ? spikes : lobes;
  /** @param {number} radius @param {number} lobeCount @param {number} twist */
  const trace = (radius, lobeCount, twist) => shape(ctx, radius, lobeCount, depth, turn + twist, sequence(seed + lobeCount));
  if (skirt) {
    const radius = scale * 0.92;
    shadow(ctx, () => trace(radius, count, 0));
    trace(radius, count, 0);
    solid(ctx, leaves.low, mix(leaves.low, leaves.glow, 0.4), radius);
    return;
  }
  // Draws the shade of the crown, then two lighter and smaller tiers of leaves.
  const radius = scale * 0.66;
  ctx.save();
  ctx.translate(5, 8);
  trace(radius, count - 2, 0.4);
  ctx.fillStyle = 'rgb(30 40 40 / 0.22)';
  ctx.fill();
  ctx.restore();
  const line = biome === 'snow' ? '#7d9ba6' : mix(outlineOf(leaves.low), leaves.low, 0.45);
  trace(radius, count - 2, 0.4);
  solid(ctx, mix(leaves.low, leaves.high, 0.75), leaves.high, radius, line);
  ctx.save();
  ctx.translate(-scale * 0.045, -scale * 0.06);
  trace(radius * 0.54, Math.max(6, count - 4), 0.9);
  ctx.fillStyle = mix(leaves.high, leaves.glow, 0.62);
  ctx.fill();
  ctx.restore();
}

/**
 * Draws a low bush with berries, or a cactus in the desert.
 * @param {CanvasRenderingContext2D} ctx @param {number} scale @param {Random} random
 * @param {Biome} biome
 */
function bush(ctx, scale, random, biome) {
  if (biome === 'desert') {
    cactus(ctx, scale, random);
    return;
  }
  const radius = scale * 0.88;
  const fill = biome === 'snow' ? '#8fb5a8' : '#5c9c5a';
  const glow = biome === 'snow' ? '#eaf4f4' : '#8cc878';
  const count = 7 + Math.floor(random() * 2);
  const turn = random() * 2;
  const seed = Math.floor(random() * 1e6);
  const trace = () => lobes(ctx, radius, count, 0.13, turn, sequence(seed));
  shadow(ctx, trace);
  trace();
  solid(ctx, fill, glow, radius);
  const berry = biome === 'snow' ? '#6d7fd1' : '#b8365e';
  for (let i = 0; i < 5; i++) {
    const angle = turn + (i / 5) * 2 * Math.PI + random() * 0.6;
    const distance = radius * (0.25 + 0.42 * random());
    ball(ctx, distance * Math.cos(angle), distance * Math.sin(angle), scale * 0.115, berry);
  }
}

/**
 * Draws a berry with a dark rim and a bright spot.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} radius
 * @param {string} fill
 */
function ball(ctx, x, y, radius, fill) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 7);
  ctx.fillStyle = fill;
  ctx.fill();
  ctx.strokeStyle = outlineOf(fill);
  ctx.lineWidth = 4.5;
  ctx.stroke();
  ctx.beginPath();
  ctx.arc(x - radius * 0.3, y - radius * 0.35, radius * 0.32, 0, 7);
  ctx.fillStyle = 'rgb(255 255 255 / 0.75)';
  ctx.fill();
}

/**
 * Draws a barrel cactus from above: ribs, spines, a flower.
 * @param {CanvasRenderingContext2D} ctx @param {number} scale @param {Random} random
 */
function cactus(ctx, scale, random) {
  const radius = scale * 0.78;
  const count = 10;
  const seed = Math.floor(random() * 1e6);
  const trace = () => lobes(ctx, radius, count, 0.07, 0, sequence(seed));
  shadow(ctx, trace);
  trace();
  solid(ctx, '#7fa650', '#b5cf74', radius);
  ctx.strokeStyle = 'rgb(54 78 40 / 0.4)';
  ctx.lineWidth = 4;
  for (let i = 0; i < count; i++) {
    const angle = (i / count) * 2 * Math.PI;
    ctx.beginPath();
    ctx.moveTo(radius * 0.32 * Math.cos(angle), radius * 0.32 * Math.sin(angle));
    ctx.lineTo(radius * 0.86 * Math.cos(angle), radius * 0.86 * Math.sin(angle));
    ctx.stroke();
  }
  ctx.strokeStyle = '#f6efd0';
  ctx.lineWidth = 3.5;
  for (let i = 0; i < count; i++) {
    const angle = ((i + 0.5) / count) * 2 * Math.PI;
    for (const distance of [0.5, 0.78]) {
      ctx.beginPath();
      ctx.moveTo(radius * distance * Math.cos(angle), radius * distance * Math.sin(angle));
      ctx.lineTo(radius * (distance + 0.13) * Math.cos(angle + 0.06), radius * (distance + 0.13) * Math.sin(angle + 0.06));
      ctx.stroke();
    }
  }
  ball(ctx, 0, 0, scale * 0.16, '#e0709a');
}

const STONES = { grass: '#9aa0a8', river: '#9aa0a8', snow: '#aab6c4', desert: '#b89b78' };

/**
 * Draws a rock or gold: rough outline, lit upper face, cracks; gold glints.
 * @param {CanvasRenderingContext2D} ctx @param {number} scale @param {Random} random
 * @param {Biome} biome @param {boolean} golden
 */
function rock(ctx, scale, random, biome, golden) {
  const fill = golden ? '#dba93a' : STONES[biome];
  const face = golden ? '#f4cf63' : mix(fill, '#ffffff', 0.28);
  const corners = golden ? 7 : 6 + Math.floor(random() * 2);
  const turn = random() * 2;
  /** @type {{ x: number, y: number }[]} */
  const points = [];
  for (let i = 0; i < corners; i++) {
    const angle = turn + ((i + (random() - 0.5) * 0.4) / corners) * 2 * Math.PI;
    const distance = scale * (0.9 + 0.12 * random());
    points.push({ x: distance * Math.cos(angle), y: distance * Math.sin(angle) });
  }
  /** @param {number} part @param {number} dx @param {number} dy */
  const trace = (part, dx, dy) => {
    ctx.beginPath();
    for (const point of points) ctx.lineTo(point.x * part + dx, point.y * part + dy);
    ctx.closePath();
  };
  shadow(ctx, () => trace(1, 0, 0));
  trace(1, 0, 0);
  solid(ctx, fill, mix(fill, '#ffffff', 0.2), scale);
  trace(0.62, -scale * 0.07, -scale * 0.09);
  ctx.fillStyle = face;
  ctx.fill();
  ctx.strokeStyle = mix(fill, outlineOf(fill), 0.4);
  ctx.lineWidth = 4;
  for (const point of points) {
    ctx.beginPath();
    ctx.moveTo(point.x * 0.62 - scale * 0.07, point.y * 0.62 - scale * 0.09);
    ctx.lineTo(point.x * 0.82, point.y * 0.82);
    ctx.stroke();
  }
  if (biome === 'snow' && !golden) cap(ctx, scale, trace);
  if (golden) glints(ctx, scale, random);
}

/**
 * Draws snow on the upper face.
 * @param {CanvasRenderingContext2D} ctx @param {number} scale @param {Trace} trace
 */
function cap(ctx, scale, trace) {
  trace(0.52, -scale * 0.1, -scale * 0.13);
  ctx.fillStyle = '#f4f8fb';
  ctx.fill();
}

/**
 * Draws bright specks in gold.
 * @param {CanvasRenderingContext2D} ctx @param {number} scale @param {Random} random
 */
function glints(ctx, scale, random) {
  ctx.fillStyle = '#fff4c4';
  for (let i = 0; i < 4; i++) {
    const angle = random() * 2 * Math.PI;
    const distance = scale * 0.5 * random();
    const x = distance * Math.cos(angle) - scale * 0.1;
    const y = distance * Math.sin(angle) - scale * 0.1;
    const size = scale * (0.07 + 0.07 * random());
    ctx.beginPath();
    for (let point = 0; point < 8; point++) {
      const radius = point % 2 ? size * 0.35 : size * 1.5;
      ctx.lineTo(x + radius * Math.cos((point * Math.PI) / 4), y + radius * Math.sin((point * Math.PI) / 4));
    }
    ctx.fill();
  }
}
