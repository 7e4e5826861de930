// Texts and parts of a datagram in the inspector: row, tooltip, view, and the strip of waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentOf, factsOf, fateOf, titleOf, waitText } from '../../../src/web/inspector/list/datagram-row.js';
import { describeWaits } from '../../../src/web/inspector/list/wait-strip.js';
import { flattenTree, partsOf } from '../../../src/web/inspector/frame/tree.js';

const datagram = (facts = {}) => ({ sequence: 41, acks: 39, packets: 'move ×2', state: null, ...facts });
const entry = (from, facts, rule = null) => ({ n: 7, client: 1, at_ms: 0, tick: 3, from, opcode: 'datagram', packet: null, rule, bytes: 33, datagram: datagram(facts) });

test('a row shows outcome and wait of a datagram, or else the acknowledged number', () => {
  for (const [facts, expected] of [
    [{}, ['✓39']],
    [{ acks: null }, []],
    [{ state: 'late', late_ms: 12.34 }, ['late 12 ms']],
    [{ state: 'late' }, ['late']],
    [{ state: 'lost' }, ['lost']],
    [{ wait_ms: 4.06 }, ['stream +4.1 ms']],
    [{ wait_ms: 0.2 }, ['✓39']],
    [{ state: 'late', late_ms: 9, wait_ms: 154.2 }, ['late 9.0 ms', 'stream +154 ms']],
  ]) assert.deepEqual(factsOf(datagram(facts)), expected, JSON.stringify(facts));
  assert.equal(contentOf(datagram(), null), 'move ×2');
  assert.equal(contentOf(datagram({ packets: '' }), null), 'acknowledgement');
  assert.equal(contentOf(datagram(), 'datagram_wrong_tag'), 'wrong tag');
});

test('the outcome of a datagram is described for its direction', () => {
  assert.equal(fateOf(entry('client')), 'It arrived in order.');
  assert.equal(fateOf(entry('server')), 'Not acknowledged yet.');
  assert.equal(fateOf(entry('server', { acked_ms: 178 })), 'The client acknowledged it after 178 ms.');
  assert.equal(fateOf(entry('client', { state: 'late', late_ms: 147 })), 'Late: it arrived 147 ms after a newer one.');
  assert.equal(fateOf(entry('server', { state: 'late' })), 'Late: the client had a newer one first.');
  assert.match(fateOf(entry('client', { state: 'dropped' }, 'datagram_repeated')), /^Repeated/);
  assert.equal(waitText(datagram()), '');
  assert.match(waitText(datagram({ wait_ms: 22.4 })), /^On a stream it would have waited about 22\.4 ms for a missing segment, /);
  assert.equal(titleOf(entry('client', { acks: null })), 'Datagram 41 from the client, acknowledges none: move ×2. It arrived in order.');
});

test('the strip of waits counts updates by datagram, and is empty without any', () => {
  const frame = [1, 0, 33, 50, 1, null, false];
  assert.equal(describeWaits([frame]), '');
  assert.equal(describeWaits([frame, [2, 33, 33, 50, 1, 0, false]]), 'None held on a stream · 0 of 1 lost');
  assert.equal(describeWaits([[2, 0, 33, 50, 1, 0, true], [3, 33, 33, 50, 1, 150, false], [4, 66, 33, 50, 1, 117, false]]), '2 held up to 150 ms on a stream · 1 of 3 lost');
});

test('the header ends after twelve bytes, so a message called received is not part of it', () => {
  const node = (name, start, end, children = []) => ({ name, bits: [start * 8, end * 8], value: '', encoding: '', children });
  const tree = node('datagram', 0, 22, [node('connection', 0, 4), node('sequence', 4, 6), node('newest', 6, 8), node('received', 8, 12), node('received', 12, 19), node('rest', 19, 22)]);
  const frames = [{ tree, masked: null, start: 0, end: 22, line: '' }];
  const { header, parts } = partsOf(frames, false);
  assert.equal(header, 12);
  assert.deepEqual(parts.map(({ kind, name, start, end }) => [kind, name, start, end]), [['message', 'received', 12, 19], ['unread', 'rest', 19, 22]]);
  const { rows } = flattenTree(tree);
  assert.deepEqual(rows.map(({ name, tint }) => `${name} ${tint}`), ['received code', 'rest code', 'connection flags', 'sequence opcode', 'newest mask', 'received key']);
});
