/**
 * Muzzle flashes, sparks, dust and explosions. All follow from the shells and hits in view.
 *
 * @module tanks/effects
 */

import { TURN, makeNoise } from './map.js';
import { disc, ink } from './shapes.js';
import { MUZZLE } from './tank.js';

const FLASH_MS = 110;
const SMOKE_MS = 650;
const RECOIL_MS = 220;
const SPARK_MS = 300;
const DUST_MS = 420;
const BLAST_MS = 1100;
const PAIN_MS = 350;
/** Distances of a shell from the own tank within which an arrow announces it, px. */
const THREAT_REACH = 1400;
const THREAT_WIDTH = 60;
/** A state that starts or ends more shells follows a jump in time. */
const MAX_SHELLS = 30;
const MAX_EFFECTS = 60;

/** @typedef {import('./shapes.js').View} View */
/**
 * @typedef {{ id: number, x: number, y: number, way: number, kind: number, player?: number }} Shell
 *   in half px
 */
/** @typedef {'shot' | 'dust' | 'spark' | 'blast'} Kind */
/**
 * @typedef {{ kind: Kind, x: number, y: number, way: number, at: number, paint: string }} Effect
 */

const noise = makeNoise(1);
/** @type {Record<Kind, number>} */
const DURATIONS = { shot: SMOKE_MS, dust: DUST_MS, spark: SPARK_MS, blast: BLAST_MS };

export class Effects {
  /** @type {Effect[]} */
  running = [];
  /** Shells of the last frame by ID. @type {Map<string, Shell>} */
  shells = new Map();
  /** Time of the last shot by player. @type {Map<number, number>} */
  shots = new Map();
  /** Time of the last hit on the own tank, ms. */
  painAt = -Infinity;

  /**
   * Starts an effect for each shell that is new, and for each that has ended.
   * @param {Shell[]} shells
   * @param {Record<string, number>[]} tanks
   * @param {number | null} own player of the shells without a player
   * @param {number} now ms
   */
  follow(shells, tanks, own, now) {
    const before = this.shells;
    const keyOf = (/** @type {Shell} */ shell) => `${shell.player ?? own} ${shell.id}`;
    this.shells = new Map(shells.map((shell) => [keyOf(shell), shell]));
    const begun = shells.filter((shell) => !before.has(keyOf(shell)));
    const ended = [...before].filter(([key]) => !this.shells.has(key));
    if (begun.length + ended.length > MAX_SHELLS) return;
    for (const shell of begun) {
      const player = shell.player ?? own;
      const tank = tanks.find((one) => one.player === player);
      if (!tank || now - (this.shots.get(tank.player) ?? -Infinity) < RECOIL_MS) continue;
      this.shots.set(tank.player, now);
      const way = tank.turret / TURN * 2 * Math.PI;
      this.add('shot', tank.x + MUZZLE * Math.cos(way), tank.y + MUZZLE * Math.sin(way), now, way);
    }
    for (const [, { x, y, way }] of ended) this.add('dust', x / 2, y / 2, now, way / 256 * 2 * Math.PI);
  }

  /**
   * @param {Kind} kind
   * @param {number} x px
   * @param {number} y px
   * @param {number} at ms
   * @param {number} [way] radians
   * @param {string} [paint]
   */
  add(kind, x, y, at, way = 0, paint = '') {
    this.running = [...this.running.slice(1 - MAX_EFFECTS), { kind, x, y, way, at, paint }];
  }

  /**
   * Returns how far a shot has pushed a gun back, 0 to 1.
   * @param {number} player
   * @param {number} now ms
   */
  recoil(player, now) {
    const part = (now - (this.shots.get(player) ?? -Infinity)) / RECOIL_MS;
    return part < 1 ? (1 - part) ** 2 : 0;
  }

  /** @param {CanvasRenderingContext2D} context @param {View} view @param {number} now ms */
  draw(context, { scale, x, y }, now) {
    this.running = this.running.filter(({ kind, at }) => now - at < DURATIONS[kind]);
    for (const effect of this.running) {
      context.save();
      context.translate(x(effect.x), y(effect.y));
      context.scale(scale, scale);
      DRAW[effect.kind](context, effect, now - effect.at);
      context.restore();
    }
  }

  /**
   * Draws the red edge after a hit.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {number} now ms
   */
  drawPain(context, { wide, high }, now) {
    const part = (now - this.painAt) / PAIN_MS;
    if (part >= 1) return;
    const edge = context.createRadialGradient(wide / 2, high / 2, Math.min(wide, high) * 0.45, wide / 2, high / 2, Math.hypot(wide, high) / 2);
    edge.addColorStop(0, 'rgb(214 48 38 / 0)');
    edge.addColorStop(1, `rgb(214 48 38 / ${0.42 * (1 - part)})`);
    context.fillStyle = edge;
    context.fillRect(0, 0, wide, high);
  }
}

/**
 * Draws an arrow at the edge of the view for each shell outside it that flies at the own tank.
 * @param {CanvasRenderingContext2D} context @param {View} view
 * @param {Shell[]} shells @param {Record<string, number>} own
 */
export function drawThreats(context, { scale, wide, high, x, y }, shells, own) {
  for (const shell of shells) {
    const [left, top] = [x(shell.x / 2), y(shell.y / 2)];
    if (left > 0 && top > 0 && left < wide && top < high) continue;
    const way = shell.way / 256 * 2 * Math.PI, [right, down] = [own.x - shell.x / 2, own.y - shell.y / 2];
    const ahead = right * Math.cos(way) + down * Math.sin(way), aside = Math.abs(down * Math.cos(way) - right * Math.sin(way));
    if (ahead < 0 || ahead > THREAT_REACH || aside > THREAT_WIDTH) continue;
    context.save();
    context.translate(Math.min(wide - 20, Math.max(20, left)), Math.min(high - 20, Math.max(20, top)));
    context.rotate(way);
    context.scale(Math.max(1, scale), Math.max(1, scale));
    const arrow = new Path2D('M12 0L-8 -10L-3 0L-8 10Z');
    ink(context, arrow, shell.kind ? '#ff7b3c' : '#ffd34d', 2.5);
    context.restore();
  }
}

/**
 * @type {Record<Kind, (context: CanvasRenderingContext2D, effect: Effect, age: number) => void>}
 */
const DRAW = {
  shot(context, { way, x }, age) {
    context.rotate(way);
    const part = age / SMOKE_MS;
    for (let puff = 0; puff < 4; puff++) {
      context.fillStyle = `rgb(240 236 226 / ${0.5 * (1 - part)})`;
      context.fill(disc(4 + puff * 5 + 16 * Math.sqrt(part), (puff % 2 ? 5 : -5) * (0.4 + part) + 3 * noise(Math.round(x), puff), 3 + 8 * part));
    }
    const flash = age / FLASH_MS;
    if (flash >= 1) return;
    const star = new Path2D();
    for (let ray = 0; ray < 10; ray++) {
      const far = (ray % 2 ? 6 : ray === 0 ? 34 : 17) * (1 - flash * 0.5);
      star.lineTo(4 + far * Math.cos(ray * Math.PI / 5), far * Math.sin(ray * Math.PI / 5));
    }
    star.closePath();
    context.globalAlpha = 1 - flash * 0.6;
    ink(context, star, '#ffd34d', 2.5);
    context.fillStyle = '#fffbe0';
    context.fill(disc(6, 0, 6 * (1 - flash)));
  },
  dust(context, { way, x, y }, age) {
    const part = age / DUST_MS;
    context.globalAlpha = 1 - part;
    for (let grain = 0; grain < 6; grain++) {
      const turn = way + Math.PI + (noise(Math.round(x), Math.round(y), grain) - 0.5) * 2.6, far = 22 * Math.sqrt(part) * (0.4 + noise(Math.round(x), Math.round(y), grain + 20));
      context.fillStyle = grain % 3 ? '#d8cdb8' : '#8c8378';
      context.fill(disc(Math.cos(turn) * far, Math.sin(turn) * far, (grain % 3 ? 4.5 : 2.4) * (1 - part * 0.5)));
    }
  },
  spark(context, { way }, age) {
    const part = age / SPARK_MS;
    context.globalAlpha = 1 - part;
    Object.assign(context, { strokeStyle: '#ffe27a', lineWidth: 3, lineCap: 'round' });
    context.beginPath();
    for (let ray = 0; ray < 8; ray++) {
      const turn = way + ray * Math.PI / 4, near = 12 + 16 * part;
      context.moveTo(Math.cos(turn) * near, Math.sin(turn) * near);
      context.lineTo(Math.cos(turn) * (near + 9 * (1 - part)), Math.sin(turn) * (near + 9 * (1 - part)));
    }
    context.stroke();
    Object.assign(context, { strokeStyle: '#fdf8ec', lineWidth: 5 * (1 - part) });
    context.stroke(disc(0, 0, 12 + 26 * part));
  },
  blast(context, { x, y, paint }, age) {
    const part = age / BLAST_MS, out = 1 - (1 - part) ** 3;
    const random = (/** @type {number} */ salt) => noise(Math.round(x), Math.round(y), salt);
    context.globalAlpha = Math.min(1, 2 * (1 - part));
    for (let piece = 0; piece < 9; piece++) {
      const turn = piece * 0.7 + random(piece) * 0.6, far = (34 + 52 * random(piece + 20)) * out, size = 3 + 3 * random(piece + 40);
      context.save();
      context.translate(Math.cos(turn) * far, Math.sin(turn) * far);
      context.rotate(turn + 9 * out * random(piece + 60));
      const shard = new Path2D();
      shard.rect(-size, -size * 0.6, 2 * size, 1.2 * size);
      ink(context, shard, piece % 3 ? paint : '#554e62', 2);
      context.restore();
    }
    for (let puff = 0; puff < 9; puff++) {
      const turn = puff * 0.7 + x, far = (8 + 30 * random(puff + 80)) * out;
      const fire = Math.max(0, 1 - part * 2.4);
      context.globalAlpha = Math.min(1, 1.6 * (1 - part)) * (fire > 0 ? 1 : 0.55);
      const fill = fire > 0.45 ? (puff % 3 ? '#ffcf4a' : '#ff7b3c') : fire > 0 ? (puff % 2 ? '#e0603c' : '#f2a032') : '#6d6673';
      ink(context, disc(Math.cos(turn) * far, Math.sin(turn) * far - 10 * part, (puff % 2 ? 14 : 20) * (0.55 + 0.6 * out) * (1 - part * 0.6)), fill, fire > 0 ? 2.5 : 1.5);
    }
    context.globalAlpha = 1 - part;
    if (age < 130) {
      context.fillStyle = '#fffbe0';
      context.fill(disc(0, 0, 36 * (1 - age / 130)));
    }
    Object.assign(context, { strokeStyle: '#fdf8ec', lineWidth: 6 * (1 - part) });
    context.stroke(disc(0, 0, 14 + 74 * out));
  },
};
