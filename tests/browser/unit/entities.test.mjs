// Entity lists: which packets are one, how a packet is applied, and what is interpolated between two states.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dialect } from '../../../src/web/lib/codec.js';
import { EntityList, EntityLists, entityLayout } from '../../../src/web/lib/entities.js';
import { StateBuffer } from '../../../src/web/lib/state-buffer.js';
import { packet as encode } from '../lib/fake-socket.mjs';
import { parse } from '../lib/tables.mjs';

const SOLDIERS = 'tick:u32.tick enter:[player:u16,name:str<=15,x:u16.hpx,aim:u8.turn8,health:u8] leave:[u16] '
  + 'moved:[player:u16,dx:i8.hpx] placed:[player:u16,x:u16.px] turned:[player:u16,daim:i8.turn8] hurt:[player:u16,health:u8]';

/** Tables with one packet `soldiers` of these arguments. @param {string} args */
const tables = (args, lane = 'latest') => ({ tables: [{ rows: parse(`direction\tname\tlane\town:int\targuments\tmeaning\nto_client\tsoldiers\t${lane}\t7\t${args}\t`) }] });
const packetOf = (args, lane = 'latest') => new Dialect(tables(args, lane), 'own').clientPackets.get('soldiers');

/** A list that applies packets as they are on the wire, in raw values by argument. */
function listOf(args, units = false) {
  const codes = tables(args);
  const dialect = new Dialect(codes, 'own', { units });
  const list = new EntityList(entityLayout(dialect.clientPackets.get('soldiers')), { units });
  return { list, apply: (values) => list.apply(dialect.decode(encode('soldiers', values, 'own', codes)).values) };
}
const ann = [3, 'Ann', 100, 250, 90];
const bo = [2, 'Bo', 400, 0, 80];

test('an entity list is a packet in the lane latest whose enter is a list of groups', () => {
  const { id, members, changeLists, state } = entityLayout(packetOf(SOLDIERS));
  assert.equal(id, 'player');
  assert.deepEqual(members.map(({ name }) => name), ['player', 'name', 'x', 'aim', 'health']);
  const changes = changeLists.map((list) => [list.name, ...list.changes.map(({ given, member, isDifference }) => [given.name, member.name, isDifference])]);
  assert.deepEqual(changes, [['moved', ['dx', 'x', true]], ['placed', ['x', 'x', false]], ['turned', ['daim', 'aim', true]], ['hurt', ['health', 'health', false]]]);
  assert.deepEqual([state.name, state.fields.map(({ name }) => name)], ['soldiers', ['tick', 'entities']]);
  for (const [args, lane] of [[SOLDIERS, 'reliable'], ['tick:u32.tick enter:[u16]', 'latest'], ['enter:u8', 'latest'], ['all:[player:u16,x:u8]', 'latest']]) {
    assert.equal(entityLayout(packetOf(args, lane)), null, args);
  }
});

test('a list of other groups is no change list, and a member with the name of a difference is a value', () => {
  const { changeLists } = entityLayout(packetOf('enter:[id:u8,x:u8,dx:u8] shots:[shooter:u8,x:u8] moved:[id:u8,dx:u8,y:u8]'));
  assert.deepEqual(changeLists.map((list) => [list.name, list.changes.map(({ member, isDifference }) => [member.name, isDifference])]), [['moved', [['dx', false]]]]);
});

test('leave, enter and the changes apply in this order', () => {
  const { list, apply } = listOf(SOLDIERS);
  assert.deepEqual(apply({ enter: [...ann, ...bo] }), [3, 2]);
  assert.deepEqual([list.size, [...list].map(({ name }) => name)], [2, ['Bo', 'Ann']], 'in order of id');
  assert.deepEqual(apply({ leave: [2], enter: [2, 'Bea', 8, 0, 7], moved: [2, -3], hurt: [2, 6] }), [2], 'a new entity with the id of one that left');
  assert.deepEqual(list.get(2), { player: 2, name: 'Bea', x: 5, aim: 0, health: 6 });
  assert.deepEqual(apply({ enter: [3, 'Anna', 50, 1, 2] }), [], 'an entity that is replaced does not enter');
  assert.deepEqual(list.get(3), { player: 3, name: 'Anna', x: 50, aim: 1, health: 2 });
  apply({ leave: [3, 9] });
  assert.deepEqual([...list].map(({ player }) => player), [2]);
});

test('entities run on by their velocities, and a new velocity counts from the tick before', () => {
  const { list, apply } = listOf('tick:u32.tick enter:[id:u8,x:u16.fix4,vx:i8.fix4,y:u16.fix4] leave:[u8] steered:[id:u8,vx:i8.fix4] veered:[did:u8,dvx:i8.fix4] moved:[id:u8,dx:i8.fix4]');
  const at = (id) => list.get(id)?.x;
  apply({ tick: 10, enter: [1, 100, 3, 7, 2, 500, 0, 7] });
  const before = list.toList();
  apply({ tick: 14 });
  assert.deepEqual([at(1), at(2), before[0].x], [112, 500, 100], 'an earlier list keeps its state');
  apply({ tick: 14, steered: [2, -5] });
  assert.deepEqual([at(1), at(2)], [112, 495], 'a second packet of the tick');
  apply({ tick: 17, veered: [1, -2, 1, 4], enter: [3, 50, 9, 7], moved: [2, 1] });
  assert.deepEqual([at(1), at(2), at(3)], [119, 485, 50], '112 + 3 * 3 - 2, 495 - 3 * 5 + 4 + 1');
  assert.deepEqual(list.get(2), { id: 2, x: 485, vx: -1, y: 7 });
  apply({ tick: 16 });
  apply({ tick: 17 });
  assert.equal(at(3), 50, 'time does not run back');
});

test('with units, velocities are pixels per tick', () => {
  const { list, apply } = listOf('tick:u32.tick enter:[id:u8,x:u16.fix4,vx:i8.fix4] leave:[u8] steered:[id:u8,vx:i8.fix4]', true);
  apply({ tick: 10, enter: [1, 160, 8] });
  apply({ tick: 13, steered: [1, 24] });
  assert.deepEqual(list.get(1), { id: 1, x: 12.5, vx: 1.5 });
});

test('the id of an entry may be its difference to the id of the entry before, also after an unknown id', () => {
  const { list, apply } = listOf('enter:[id:u16,x:u8] leave:[u16] moved:[did:u16,dx:i8] placed:[did:u16,x:u8]|nil');
  apply({ enter: [7, 10, 300, 20, 301, 30] });
  apply({ moved: [7, 1, 13, 9, 280, -2, 1, 3], placed: [301, 99] });
  assert.deepEqual(list.toList(), [{ id: 7, x: 11 }, { id: 300, x: 18 }, { id: 301, x: 99 }]);
});

test('changes of unknown ids and missing lists are skipped', () => {
  const { list, apply } = listOf(SOLDIERS);
  apply({ enter: ann });
  apply({ moved: [8, 5], placed: [8, 5], hurt: null });
  assert.deepEqual(list.toList(), [{ player: 3, name: 'Ann', x: 100, aim: 250, health: 90 }]);
});

test('an unchanged entity stays the same object, a changed one is another, and an earlier list stays', () => {
  const { list, apply } = listOf(SOLDIERS);
  apply({ enter: [...ann, ...bo] });
  const before = list.toList();
  assert.equal(list.toList(), before);
  apply({ moved: [3, 10] });
  const after = list.toList();
  assert.equal(after[0], before[0]);
  assert.notEqual(after[1], before[1]);
  assert.deepEqual([before[1].x, after[1].x], [100, 110]);
  apply({ leave: [2] });
  assert.deepEqual([before.length, after.length, list.size], [2, 2, 1]);
});

for (const units of [false, true]) {
  test(`differences and values have the unit of the member: units ${units}`, () => {
    const { list, apply } = listOf(SOLDIERS, units);
    const [half, turn] = units ? [0.5, (2 * Math.PI) / 256] : [1, 1];
    apply({ enter: ann });
    apply({ moved: [3, -7], turned: [3, 10] });
    const expected = { player: 3, name: 'Ann', x: 93 * half, aim: 4 * turn, health: 90 };
    assert.deepEqual(list.get(3), expected, 'the angle wraps');
    apply({ turned: [3, -10], hurt: [3, 1] });
    assert.deepEqual(list.get(3), { ...expected, aim: 250 * turn, health: 1 });
    apply({ placed: [3, 60] });
    assert.equal(list.get(3).x, 120 * half, 'px in a member of half px');
  });

  test(`a difference of another unit, or of none, is converted: units ${units}`, () => {
    const { list, apply } = listOf('enter:[id:u8,x:u16.hpx,y:u16.hpx,z:u16.fix16,n:num.px] moved:[id:u8,dx:i8.px,dy:i8,dz:i8.fix16,dn:num.px]', units);
    apply({ enter: [1, 100, 100, 100, 1.25] });
    apply({ moved: [1, 3, 3, 3, 0.5] });
    const [half, fix] = units ? [0.5, 1 / 65536] : [1, 1];
    assert.deepEqual(list.get(1), { id: 1, x: 106 * half, y: 103 * half, z: 103 * fix, n: 1.75 });
  });
}

test('a signed angle wraps within its type, and many differences do not drift', () => {
  const { list, apply } = listOf('enter:[id:u8,way:i16.turn16] turned:[id:u8,dway:i16.turn16]', true);
  apply({ enter: [1, 32000] });
  for (let turn = 0; turn < 1000; turn += 1) apply({ turned: [1, 1000] });
  assert.equal(list.get(1).way, ((((32000 + 32768 + 1000 * 1000) % 65536) - 32768) * 2 * Math.PI) / 65536);
});

test('a nil value is set, and a nil difference changes nothing', () => {
  const { list, apply } = listOf('enter:[id:u8,x:u8,team:u8|nil] moved:[id:u8,dx:i8|nil,team:u8|nil,dteam:i8]');
  apply({ enter: [1, 5, 2] });
  apply({ moved: [1, null, null, 1] });
  assert.deepEqual(list.get(1), { id: 1, x: 5, team: null });
});

const TICK_MS = 1000 / 30;
const HOW = { units: false };
const GROUPS = 'tick:u32.tick enter:[id:u8,x:u16.px] leave:[u8] placed:[id:u8,x:u16.px]';

/** States of packets by tick, as `tickwire.js` stores them. `at` returns what is rendered at a tick, as x by id. */
function rendered(packets) {
  const dialect = new Dialect(tables(GROUPS), 'own');
  const states = new StateBuffer({ tick_hz: 30, update_hz: 30 });
  const lists = new EntityLists();
  lists.begin(dialect, states, { tick: 0 }, 0);
  const receive = (values, now = values.tick * TICK_MS) => {
    const state = lists.apply('soldiers', values);
    states.onPacket('soldiers', state.values, now, false, state);
  };
  packets.forEach((values) => receive(values));
  const at = (tick) => {
    states.clock.delayMs = states.clock.targetDelayMs();
    return Object.fromEntries(states.interpolate(lists.statePacket('soldiers'), tick * TICK_MS + states.clock.delayMs, HOW).entities.map(({ id, x }) => [id, x]));
  };
  return { states, lists, dialect, receive, at };
}
const near = (shown, expected) => {
  assert.deepEqual(Object.keys(shown), Object.keys(expected));
  for (const [id, x] of Object.entries(expected)) assert.ok(Math.abs(shown[id] - x) < 0.01, `${id}: ${shown[id]} is not ${x}`);
};

test('an entity is shown from the tick of its enter to that of its leave, where it is', () => {
  const { at } = rendered([
    { tick: 10, enter: [{ id: 1, x: 100 }] },
    { tick: 11, placed: [{ id: 1, x: 200 }], enter: [{ id: 2, x: 500 }] },
    { tick: 12, placed: [{ id: 2, x: 600 }], leave: [1] },
    { tick: 13 },
  ]);
  near(at(10.5), { 1: 150 });
  near(at(10.95), { 1: 195 });
  near(at(11.02), { 1: 200, 2: 502 });
  near(at(11.95), { 1: 200, 2: 595 });
  near(at(12.02), { 2: 600 });
});

test('the packets of an update in several datagrams are one state', () => {
  const { at } = rendered([
    { tick: 10, enter: [{ id: 1, x: 100 }, { id: 2, x: 0 }] },
    { tick: 11, placed: [{ id: 1, x: 200 }], enter: [{ id: 3, x: 70 }] },
    { tick: 11, placed: [{ id: 2, x: 50 }], enter: [{ id: 4, x: 90 }] },
    { tick: 12 },
  ]);
  near(at(10.5), { 1: 150, 2: 25 });
  near(at(11.02), { 1: 200, 2: 50, 3: 70, 4: 90 });
});

test('an entity that enters with the id of one that leaves does not come from there', () => {
  const { at } = rendered([
    { tick: 10, enter: [{ id: 1, x: 100 }, { id: 2, x: 0 }] },
    { tick: 11, leave: [1], enter: [{ id: 1, x: 300 }, { id: 2, x: 50 }] },
    { tick: 12 },
  ]);
  near(at(10.5), { 1: 100, 2: 25 });
  near(at(11.02), { 1: 300, 2: 50 });
});

test('an entity that left and entered again is not extrapolated by its earlier position', () => {
  const { states, at } = rendered([
    { tick: 10, enter: [{ id: 1, x: 100 }, { id: 2, x: 0 }] },
    { tick: 11, leave: [1], placed: [{ id: 2, x: 10 }] },
    { tick: 12, enter: [{ id: 1, x: 900 }], placed: [{ id: 2, x: 20 }] },
    { tick: 13, placed: [{ id: 1, x: 901 }, { id: 2, x: 30 }] },
  ]);
  states.clock.jitterMs = 100;
  const shown = at(14);
  assert.equal(shown[1], 901);
  assert.ok(Math.abs(shown[2] - 40) < 0.01, `${shown[2]} goes on`);
});

test('after a stall an entity with the id of one that left is shown where it entered', () => {
  const { states, receive, at } = rendered([10, 11, 12, 13].map((tick) => ({ tick, [tick === 10 ? 'enter' : 'placed']: [{ id: 1, x: 10 * tick }, { id: 2, x: 10 * tick }] })));
  states.clock.jitterMs = 100;
  near(at(14), { 1: 140, 2: 140 });
  near(at(15), { 1: 150, 2: 150 });
  receive({ tick: 15, leave: [1], enter: [{ id: 1, x: 300 }], placed: [{ id: 2, x: 100 }] }, 15 * TICK_MS + 100);
  states.clock.jitterMs = 100;
  const shown = at(15.1);
  assert.equal(shown[1], 300);
  assert.ok(shown[2] > 140, `${shown[2]} blends`);
});

test('after a reconnect the list is empty until its first packet, and movement goes on', () => {
  const { states, lists, dialect, receive, at } = rendered([{ tick: 10, enter: [{ id: 1, x: 100 }, { id: 2, x: 0 }] }, { tick: 11 }]);
  lists.begin(dialect, states, { tick: 12 }, 12 * TICK_MS);
  assert.deepEqual(states.newest('soldiers'), { tick: 12, entities: [] });
  assert.equal(lists.byId('soldiers').size, 0);
  receive({ tick: 13, enter: [{ id: 1, x: 300 }] });
  near(at(12), { 1: 200, 2: 0 });
  near(at(13), { 1: 300 });
});

test('after a reconnect without a packet, the entities of the earlier connection disappear', () => {
  const { states, lists, dialect, receive, at } = rendered([{ tick: 10, enter: [{ id: 1, x: 100 }] }]);
  lists.begin(dialect, states, { tick: 14 }, 14 * TICK_MS);
  near(at(13.9), { 1: 100 });
  near(at(14.1), {});
  receive({ tick: 40, enter: [{ id: 1, x: 300 }] });
  near(at(39.5), {});
  near(at(40), { 1: 300 });
});
