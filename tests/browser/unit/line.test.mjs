// The simulated line before a page's socket: order, delay, and what is left after a close.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { NetemSocket } from '../../../src/web/lib/netem.js';

let now = 0;
beforeEach(() => {
  now = 1000;
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(performance, 'now', () => now);
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});
const pass = (ms) => { now += ms; mock.timers.tick(ms); };

/** A socket behind a line with these delays, message by message, and what it has sent and got. */
function lined(delays) {
  const [sent, got] = [[], []];
  const socket = { readyState: 1, send: (bytes) => sent.push(...bytes), close(code) { this.readyState = 2; this.code = code; } };
  const line = { arrivalTime: () => now + (delays.shift() ?? 0) };
  const one = new NetemSocket(socket, line);
  one.onopen = () => got.push('open');
  one.onmessage = ({ data }) => got.push(new Uint8Array(data)[0]);
  one.onclose = ({ code }) => got.push(`closed ${code}`);
  return { one, socket, sent, got, come: (byte) => socket.onmessage({ data: Uint8Array.of(byte).buffer }) };
}

test('on a perfect line everything passes at once', () => {
  const { one, socket, sent, got, come } = lined([]);
  socket.onopen({});
  come(7);
  one.send(Uint8Array.of(8));
  assert.deepEqual([got, sent], [['open', 7], [8]]);
});

test('messages wait for their time, and none overtakes another, also if it could be sooner', () => {
  const { socket, got, come } = lined([0, 100, 30, 200]);
  socket.onopen({});
  come(1);
  come(2);
  come(3);
  pass(99);
  assert.deepEqual(got, ['open']);
  pass(1);
  assert.deepEqual(got, ['open', 1, 2]);
  socket.onclose({ code: 1001 });
  pass(99);
  assert.deepEqual(got, ['open', 1, 2]);
  pass(1);
  assert.deepEqual(got, ['open', 1, 2, 3, 'closed 1001'], 'the end comes after what was under way');
});

test('each direction waits on its own', () => {
  const { one, sent, got, come } = lined([100, 50]);
  come(1);
  one.send(Uint8Array.of(2));
  pass(50);
  assert.deepEqual([got, sent], [[], [2]]);
  pass(50);
  assert.deepEqual(got, [1]);
});

test('after a close nothing more arrives, and nothing is sent to a socket that is closing', () => {
  const { one, socket, sent, got, come } = lined([100, 100, 100]);
  come(1);
  one.send(Uint8Array.of(2));
  one.close(1000);
  pass(200);
  one.send(Uint8Array.of(3));
  pass(200);
  assert.deepEqual([got, sent, socket.code], [[], [], 1000]);
});

test('a handler that throws does not hold up those behind it', () => {
  const { one, got, come } = lined([10, 20]);
  one.onmessage = ({ data }) => {
    const [byte] = new Uint8Array(data);
    if (byte === 1) throw new Error('of the page');
    got.push(byte);
  };
  come(1);
  come(2);
  assert.throws(() => pass(10), /of the page/);
  pass(10);
  assert.deepEqual(got, [2]);
});
