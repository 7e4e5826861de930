// Packets by name, by the tables: what each shape of the type grammar becomes, both ways, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dialect, blendStates, defaultDialect } from '../../../src/web/lib/codec.js';
import { decode as fromMsgpack, encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { CODES } from '../lib/fake-socket.mjs';
import { parse } from '../lib/tables.mjs';

const HEADING = 'direction\tname\tlane\town:int\targuments\tmeaning';
/** A table of these packets. @param {string[]} lines direction, name, code, arguments */
const table = (...lines) => ({
  tables: [{ rows: parse([HEADING, ...lines.map((line) => line.replace(/^(\S+) (\S+) (\S+) /, '$1\t$2\treliable\t$3\t').concat('\t'))].join('\n')) }],
});
const own = (...lines) => new Dialect(table(...lines), 'own');
const toBytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));

/** Some value of a type, by its notation. */
function sample(argument, at) {
  const members = argument.members?.map(sample);
  const named = () => Object.fromEntries(argument.members.map(({ name }, i) => [name, members[i]]));
  if (argument.type.startsWith('[')) return argument.members ? [named(), named()] : [1, 2];
  if (/^[{(]/.test(argument.type)) return named();
  if (argument.type.startsWith('str')) return `text ${at}`;
  if (argument.type.startsWith('bool')) return true;
  if (argument.type.startsWith('num')) return 1.5 + at;
  return argument.type.includes('<=1') || argument.type.startsWith('flag') ? 1 : at + 1;
}

/** The same in order, as it is on the wire. */
function flat(argument, value) {
  if (!argument.members) return value;
  const inOrder = (one) => argument.members.map((member) => flat(member, one[member.name]));
  if (argument.type.startsWith('[')) return value.flatMap(inOrder);
  return argument.type.startsWith('(') ? inOrder(value) : new Map(argument.members.map((member) => [member.name, flat(member, value[member.name])]));
}

for (const name of ['native', 'letters', 'legacy']) {
  test(`each packet of ${name} is encoded and decoded by the table`, () => {
    const dialect = new Dialect(CODES, name);
    let count = 0;
    for (const row of CODES.tables.flatMap(({ rows }) => rows).filter(({ codes }) => codes[name] !== undefined)) {
      const values = Object.fromEntries(row.arguments.map((argument, at) => [argument.name, sample(argument, at)]));
      // `[{…}]`, a list of maps, has no members in the tables: it is given as it is.
      const plain = row.name === 'init_data' ? { data: { teams: [1, 2] } } : values;
      const wire = [row.codes[name], row.arguments.map((argument) => flat(argument, plain[argument.name]))];
      if (row.direction === 'to_server') assert.deepEqual(fromMsgpack(dialect.encode(row.name, plain)), wire, row.name);
      else assert.deepEqual(dialect.decode(pack(wire)), { name: row.name, values: plain }, row.name);
      count += 1;
    }
    assert.ok(count > 30);
  });
}

/** MessagePack of a value with maps. */
const pack = (value) => toMsgpack(JSON.parse(JSON.stringify(value, (_, one) => (one instanceof Map ? Object.fromEntries(one) : one))));

test('the bytes of a packet are those of the native dialect', () => {
  const dialect = new Dialect(CODES, 'native');
  assert.equal(Buffer.from(dialect.encode('move', { sequence: 17, tick: 1200, direction: 16384 })).toString('hex'), '92039311cd04b0cd4000');
  assert.deepEqual(dialect.decode(toBytes('92079207cd04b0')), { name: 'pong', values: { nonce: 7, tick: 1200 } });
});

test('missing arguments at the end are null, further ones are ignored, a torn group is left out', () => {
  const dialect = new Dialect(CODES, 'native');
  const nothing = { own: null, leaves: null, enters: null, full: null, moved: null, turned: null, animals: null, animals_gone: null };
  assert.deepEqual(dialect.decode(toMsgpack([2, [90]])).values, { ...nothing, tick: 90 });
  assert.deepEqual(dialect.decode(toMsgpack([2])).values, { ...nothing, tick: null });
  const moved = [4, 1, -2, 5, 3, 0, 6];
  const { values } = dialect.decode(toMsgpack([2, [90, [], [4], null, null, moved, null, 'more']]));
  assert.deepEqual(values.moved, [{ player: 4, dx: 1, dy: -2 }, { player: 5, dx: 3, dy: 0 }]);
  assert.deepEqual([values.own, values.leaves, values.enters], [[], [4], null]);
});

test('a code that the tables do not have is nothing, and bytes that are no packet are an error', () => {
  const dialect = new Dialect(CODES, 'native');
  assert.equal(dialect.decode(toMsgpack([99, [1]])), null);
  for (const wrong of [5, [2, 7]]) assert.throws(() => dialect.decode(toMsgpack(wrong)), /not \[code/);
  assert.throws(() => dialect.decode(toBytes('92')), RangeError);
});

test('what does not fit the table is refused, and the error names packet and argument', () => {
  const dialect = own(
    'to_server go 1 way:u16.turn16|nil fast:flag name:str at:i8 targets:[u16] places:[id:u8,x:num]<=2|nil of:{kind:u8<=3}|nil',
    'to_server stop 2 -',
  );
  const good = { fast: true, name: 'a', at: -128, targets: [7, 8] };
  assert.deepEqual(fromMsgpack(dialect.encode('go', good)), [1, [null, 1, 'a', -128, [7, 8], null, null]]);
  assert.deepEqual(fromMsgpack(dialect.encode('stop')), [2, []]);
  for (const [values, words] of [
    [{ ...good, dir: 1 }, /^go has no argument dir; it has: way, fast, name, at, targets, places, of$/],
    [{ ...good, name: undefined }, /^go\.name is missing: str$/],
    [{ ...good, name: 5 }, /^go\.name must be str, not 5$/],
    [{ ...good, fast: 2 }, /^go\.fast must be flag, not 2$/],
    [{ ...good, at: 128 }, /^go\.at is 128: beyond i8$/],
    [{ ...good, at: 0.5 }, /^go\.at must be i8, not 0\.5$/],
    [{ ...good, at: NaN }, /^go\.at must be i8/],
    [{ ...good, way: 65536 }, /^go\.way is 65536: beyond u16\.turn16\|nil$/],
    [{ ...good, targets: 7 }, /^go\.targets must be \[u16\], not 7$/],
    [{ ...good, targets: [7, -1] }, /^go\.targets\[1\] is -1: beyond u16$/],
    [{ ...good, places: [{ id: 1, x: 1 }, { id: 2 }] }, /^go\.places\[1\]\.x is missing: num$/],
    [{ ...good, places: [{}, {}, {}] }, /^go\.places has 3 entries/],
    [{ ...good, of: { kind: 4 } }, /^go\.of\.kind is 4: beyond u8<=3$/],
    [{ ...good, of: [1] }, /^go\.of: give the values as an object$/],
  ]) assert.throws(() => dialect.encode('go', values), { message: words });
  assert.throws(() => dialect.encode('run'), { message: 'no packet run to the server; there are: go, stop' });
});

test('with units, places are in pixels and angles in radians, both ways', () => {
  const lines = ['to_server turn 1 way:u16.turn16 to:u16.hpx far:num.px',
    'to_client is 1 way:u8.turn8 at:[id:u8,x:i32.fix16]|nil count:u8 list:[u16.hpx]|nil'];
  const dialect = new Dialect(table(...lines), 'own', { units: true });
  assert.deepEqual(fromMsgpack(dialect.encode('turn', { way: -Math.PI / 2, to: 10.26, far: 0.75 })), [1, [49152, 21, 0.75]]);
  assert.deepEqual(fromMsgpack(dialect.encode('turn', { way: 4 * Math.PI, to: 0, far: 1 })), [1, [0, 0, 1]]);
  const { values } = dialect.decode(toMsgpack([1, [64, [3, 98304], 9, [5]]]));
  assert.deepEqual(values, { way: Math.PI / 2, at: [{ id: 3, x: 1.5 }], count: 9, list: [2.5] });
});

test('an angle in a signed type wraps at half a turn', () => {
  const dialect = new Dialect(table('to_server aim 1 way:i8.turn8 far:i16.turn16'), 'own', { units: true });
  const sent = (/** @type {number} */ way) => fromMsgpack(dialect.encode('aim', { way, far: way }))[1];
  for (const [eighths, steps] of [[0, 0], [1, 32], [3, 96], [4, -128], [5, -96], [-1, -32], [-4, -128], [9, 32]]) {
    assert.deepEqual(sent((eighths * Math.PI) / 4), [steps, steps * 256]);
  }
});

test('the dialect is the first that greets, or an error names those that are there', () => {
  assert.equal(defaultDialect(CODES), 'native');
  assert.throws(() => defaultDialect({ tables: CODES.tables.slice(0, 1) }), /has both hello and welcome; there are: legacy, /);
  assert.throws(() => new Dialect(CODES, 'klingon'), /no dialect klingon/);
});

test('between two states places and angles are in proportion, and all else is of the earlier one', () => {
  const { fields } = own('to_client s 1 x:u16.px way:u16.turn16 score:u8 y:u16 name:str left:u8.px|nil').clientPackets.get('s');
  const from = { x: 10, way: 65000, score: 1, y: 0, name: 'a', left: null };
  const to = { x: 20, way: 464, score: 2, y: 8, name: 'b', left: 9 };
  assert.deepEqual(blendStates(fields, from, to, 0.5, { units: false }), { x: 15, way: 65500, score: 1, y: 0, name: 'a', left: null });
  assert.equal(blendStates(fields, to, from, 0.5, { units: false }).left, 9, 'nil has no place');
  assert.equal(blendStates(fields, from, to, 0.5, { units: false, fields: ['y'] }).y, 4);
  assert.equal(blendStates(fields, to, from, 0.25, { units: false }).way, 464 - 250);
  const [a, b] = [3, -3].map((way) => ({ ...from, way }));
  const { way } = blendStates(fields, a, b, 0.5, { units: true });
  assert.ok(Math.abs(way - Math.PI) < 1e-9, `${way}: across half a turn, not across 0`);
});

test('entries of lists are blended with the entry of the same id', () => {
  const { fields } = own('to_client s 1 all:[id:u8,x:u16.px]|nil').clientPackets.get('s');
  const from = { all: [{ id: 1, x: 0 }, { id: 2, x: 100 }] };
  const to = { all: [{ id: 2, x: 200 }, { id: 3, x: 7 }] };
  assert.deepEqual(blendStates(fields, from, to, 0.5, { units: false }), { all: [{ id: 1, x: 0 }, { id: 2, x: 150 }] });
  assert.deepEqual(blendStates(fields, from, { all: null }, 0.5, { units: false }), from);
});
