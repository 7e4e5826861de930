/**
 * The game of examples/fog.rs in Colyseus: the same rules, map and rates, for `scripts/bench-colyseus.sh`.
 *
 *     node server.mjs [WOLVES]        prints the port as a line of JSON
 *
 * Each client has a `StateView`, which Colyseus provides for hidden information: after each step the room
 * compares what a client sees with what its view contains, and adds and removes the difference. Colyseus then
 * sends the changed fields of the visible entities, each as its number and its value. Positions are whole pixels
 * in a uint16, aim an int8 and health a uint8, as in fog.tsv. Shots and deaths are messages with an array.
 *
 * @module server
 */

import { createServer } from 'node:http';
import { Room, Server } from '@colyseus/core';
import { Encoder, StateView, schema, t } from '@colyseus/schema';
import { WebSocketTransport } from '@colyseus/ws-transport';
import { around, entry, hasLineOfSight, pathGrid, pushOut } from './geometry.mjs';

const TICK_HZ = 30;
const WIDTH = 2400, HEIGHT = 1600, BASE = 250;
const RADIUS = 14, SIGHT = 340, RANGE = 300;
const SOLDIER_STEP = 170 / TICK_HZ, WOLF_STEP = 110 / TICK_HZ;
const WOLF_CELL = 40, WOLF_REACH = 8, WOLF_TICKS = 8;
const HEALTH = 100, SHOT_DAMAGE = 34, BITE_DAMAGE = 5;
const CARTRIDGES = 24, PACKS = 16, WAIT_S = 3;
const WALLS = [
  [300, 300, 40, 400], [300, 900, 40, 400], [640, 200, 420, 40], [640, 1360, 420, 40], [1160, 600, 80, 400],
  [1340, 200, 420, 40], [1340, 1360, 420, 40], [2060, 300, 40, 400], [2060, 900, 40, 400],
].map(([left, top, width, height]) => ({ left, top, right: left + width, bottom: top + height }));
/** Tag of the fields that only the owner of a soldier receives. */
const OWN = 1;

const Soldier = schema({
  name: t.string(), team: t.uint8(), x: t.uint16(), y: t.uint16(), aim: t.int8(), health: t.uint8(),
  cartridges: t.uint8().view(OWN), waitS: t.uint8().view(OWN),
  // For prediction, as `own_state` in fog.tsv: the exact position in 1/16 px, and the last control that it contains.
  exactX: t.int32().view(OWN), exactY: t.int32().view(OWN), sequence: t.uint32().view(OWN),
  // The rest stays in the server.
  at: t.number().noSync(), way: t.number().noSync(), isFiring: t.boolean().noSync(), wait: t.number().noSync(),
}, 'Soldier');
const Wolf = schema({ x: t.uint16(), y: t.uint16(), at: t.number().noSync(), angle: t.number().noSync() }, 'Wolf');
const Pack = schema({ x: t.uint16(), y: t.uint16(), at: t.number().noSync() }, 'Pack');
const Fog = schema({
  points: t.array('uint16'),
  walls: t.array('uint16'),
  soldiers: t.map(Soldier).view(),
  wolves: t.array(Wolf).view(),
  packs: t.array(Pack).view(),
}, 'Fog');

// The encoded views of all clients share one buffer.
Encoder.BUFFER_SIZE = 1024 * 1024;

const between = (low, high) => low + Math.random() * (high - low);
const isNear = (one, other, reach) => (one.x - other.x) ** 2 + (one.y - other.y) ** 2 <= reach ** 2;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const outsideWalls = (at) => WALLS.reduce((place, wall) => pushOut(wall, place, RADIUS), at);

const nextPoint = pathGrid(WALLS, WIDTH, HEIGHT, RADIUS, WOLF_CELL);

/** Returns a random place outside the walls; for a team, at its end of the map. */
function freePlace(team = -1) {
  const [left, right] = [[RADIUS, WIDTH - RADIUS], [RADIUS, BASE], [WIDTH - BASE, WIDTH - RADIUS]][team + 1];
  return outsideWalls({ x: between(left, right), y: between(RADIUS, HEIGHT - RADIUS) });
}

/** Sets the exact position of an entity, and the one on the wire. */
function place(entity, at) {
  entity.at = at;
  entity.x = Math.floor(at.x);
  entity.y = Math.floor(at.y);
  if (entity instanceof Soldier) Object.assign(entity, { exactX: Math.round(at.x * 16), exactY: Math.round(at.y * 16) });
}

/** Moves an entity by a step that ends at the edges of the map and at walls. */
function step(entity, angle, length) {
  const { x, y } = outsideWalls({ x: entity.at.x + Math.cos(angle) * length, y: entity.at.y + Math.sin(angle) * length });
  place(entity, { x: clamp(x, RADIUS, WIDTH - RADIUS), y: clamp(y, RADIUS, HEIGHT - RADIUS) });
}

class FogRoom extends Room {
  maxClients = 1000;
  tick = 0;
  messages = {
    control: (client, { sequence, way, aim, isFiring }) => {
      const soldier = this.state.soldiers.get(client.sessionId);
      if (!soldier || !(way >= 0 && way <= 8) || !(aim >= -128 && aim <= 127)) return;
      Object.assign(soldier, { sequence, way, aim, isFiring });
    },
    say: (client, text) => {
      const own = this.state.soldiers.get(client.sessionId);
      if (!own || typeof text !== 'string' || text.length > 60) return;
      for (const mate of this.clients) {
        if (this.state.soldiers.get(mate.sessionId)?.team === own.team) mate.send('said', [client.sessionId, text]);
      }
    },
  };

  onCreate({ wolves = 60 }) {
    this.autoDispose = false;
    this.state = new Fog();
    this.state.points.push(0, 0);
    for (const { left, top, right, bottom } of WALLS) this.state.walls.push(left, top, right, bottom);
    const fill = (list, count, create) => {
      for (let number = 0; number < count; number++) {
        const entity = create();
        place(entity, freePlace());
        list.push(entity);
      }
    };
    fill(this.state.packs, PACKS, () => new Pack());
    fill(this.state.wolves, wolves, () => Object.assign(new Wolf(), { angle: 0 }));
    this.wolves = [...this.state.wolves];
    this.packs = [...this.state.packs];
    this.setFixedTimestep(() => this.step(), TICK_HZ);
    // Each step sends its patch, instead of a second timer. Set before the time step, `null` would start a timer that
    // ticks the same clock, and the steps would be too few.
    this.patchRate = null;
  }

  onJoin(client, { name }) {
    const { soldiers } = this.state;
    const size = (team) => [...soldiers.values()].filter((soldier) => soldier.team === team).length;
    const team = Number(size(1) < size(0));
    const soldier = Object.assign(new Soldier(), {
      name: String(name).slice(0, 15), team, aim: 0, health: HEALTH, cartridges: CARTRIDGES, waitS: 0,
      way: 0, isFiring: false, wait: 0, sequence: 0,
    });
    place(soldier, freePlace(team));
    soldiers.set(client.sessionId, soldier);
    client.view = new StateView();
    client.view.add(soldier);
    client.view.add(soldier, OWN);
    client.visible = new Set([soldier]);
  }

  onLeave(client) {
    const soldier = this.state.soldiers.get(client.sessionId);
    for (const { visible } of this.clients) visible?.delete(soldier);
    this.state.soldiers.delete(client.sessionId);
    client.view.dispose();
  }

  step() {
    this.tick += 1;
    const soldiers = [...this.state.soldiers.entries()];
    for (const [, soldier] of soldiers) this.moveSoldier(soldier);
    for (const [id, soldier] of soldiers) {
      if (soldier.isFiring && soldier.health > 0 && soldier.wait === 0 && soldier.cartridges > 0) this.fire(id, soldier, soldiers);
    }
    this.wolves.forEach((wolf, index) => this.moveWolf(wolf, soldiers, (this.tick + index) % WOLF_TICKS === 0));
    for (const client of this.clients) this.updateView(client, soldiers);
    this.broadcastPatch();
  }

  moveSoldier(soldier) {
    soldier.wait = Math.max(soldier.wait - 1, 0);
    if (soldier.health === 0) {
      soldier.waitS = Math.ceil(soldier.wait / TICK_HZ);
      if (soldier.wait > 0) return;
      Object.assign(soldier, { health: HEALTH, cartridges: CARTRIDGES });
      place(soldier, freePlace(soldier.team));
      return;
    }
    if (soldier.way > 0) step(soldier, ((soldier.way - 1) * Math.PI) / 4, SOLDIER_STEP);
    for (const pack of this.packs) {
      if (!isNear(pack.at, soldier.at, 2 * RADIUS)) continue;
      soldier.cartridges = Math.min(soldier.cartridges + CARTRIDGES, 255);
      place(pack, freePlace());
    }
  }

  /** A shot ends at the first wall, or at the first soldier of the other team or wolf before it. */
  fire(id, own, soldiers) {
    own.cartridges -= 1;
    own.wait = Math.floor(TICK_HZ / 4);
    const { x, y } = own.at;
    const angle = (own.aim * Math.PI) / 128;
    const [toX, toY] = [x + Math.cos(angle) * RANGE, y + Math.sin(angle) * RANGE];
    let nearest = 1, hit = null;
    const meet = (rect, target) => {
      const part = entry(rect, x, y, toX, toY);
      if (part >= 0 && part < nearest) [nearest, hit] = [part, target];
    };
    for (const wall of WALLS) meet(wall, null);
    for (const [, soldier] of soldiers) {
      if (soldier.team !== own.team && soldier.health > 0) meet(around(soldier.at.x, soldier.at.y, RADIUS), soldier);
    }
    for (const wolf of this.wolves) meet(around(wolf.at.x, wolf.at.y, RADIUS), wolf);
    const length = Math.floor(nearest * RANGE);
    for (const client of this.clients) {
      const { at, health } = this.state.soldiers.get(client.sessionId) ?? { health: 0 };
      if (health > 0 && isNear(at, own.at, SIGHT) && hasLineOfSight(WALLS, at, own.at)) client.send('shot', [id, length]);
    }
    if (hit instanceof Wolf) place(hit, freePlace());
    else if (hit) this.hurt(hit, SHOT_DAMAGE, id);
  }

  hurt(soldier, damage, killer) {
    soldier.health = Math.max(soldier.health - damage, 0);
    if (soldier.health > 0) return;
    soldier.wait = WAIT_S * TICK_HZ;
    if (killer) this.state.points[1 - soldier.team] += 1;
    const [player] = [...this.state.soldiers.entries()].find(([, one]) => one === soldier);
    this.broadcast('killed', [player, killer]);
  }

  /** A wolf runs to the first soldier near it, around the walls, and wanders otherwise. */
  moveWolf(wolf, soldiers, decides) {
    const prey = soldiers.find(([, { health, at }]) => health > 0 && isNear(wolf.at, at, SIGHT / 2))?.[1];
    if (prey) {
      if (decides) {
        const next = hasLineOfSight(WALLS, wolf.at, prey.at) ? prey.at : nextPoint(wolf.at, prey.at, WOLF_REACH);
        wolf.angle = Math.atan2(next.y - wolf.at.y, next.x - wolf.at.x);
      }
    } else if (Math.random() < 1 / 40) wolf.angle = between(0, 2 * Math.PI);
    step(wolf, wolf.angle, WOLF_STEP);
    if (prey && this.tick % 10 === 0 && isNear(wolf.at, prey.at, 2 * RADIUS)) this.hurt(prey, BITE_DAMAGE, null);
  }

  /** Whether a soldier sees an entity: its own team always, anything else within its sight and no wall in between. */
  sees(own, entity) {
    if (!own || entity.team === own.team) return own !== undefined;
    return own.health > 0 && isNear(own.at, entity.at, SIGHT) && hasLineOfSight(WALLS, own.at, entity.at);
  }

  /** Adds to a client's view what it sees from now on, and removes what it no longer sees. */
  updateView(client, soldiers) {
    const own = this.state.soldiers.get(client.sessionId);
    if (!client.view || !own) return;
    const visible = new Set();
    for (const [, soldier] of soldiers) if (this.sees(own, soldier)) visible.add(soldier);
    for (const wolf of this.wolves) if (this.sees(own, wolf)) visible.add(wolf);
    for (const pack of this.packs) if (this.sees(own, pack)) visible.add(pack);
    for (const entity of visible) if (!client.visible.has(entity)) client.view.add(entity);
    for (const entity of client.visible) if (!visible.has(entity)) client.view.remove(entity);
    client.visible = visible;
  }
}

const http = createServer();
const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) });
server.define('fog', FogRoom);
await server.listen(0, '127.0.0.1');
console.log(JSON.stringify({ port: /** @type {import('node:net').AddressInfo} */ (http.address()).port }));
