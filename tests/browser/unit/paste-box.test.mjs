// The bytes of a link, for the box: digits of an address, whatever else it has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOfLink } from '../../../src/web/inspector/paste-box.js';

test('the bytes of a link are shown in groups of two digits', () => {
  for (const [link, bytes] of [
    ['frame=818537fa&dialect=native&from=client', '81 85 37 fa'],
    ['from=server&frame=81:05', '81 05'],
    ['frame=818', '81 8'],
    ['frame=&from=client', ''],
    ['token=81', ''],
    ['', ''],
  ]) assert.equal(bytesOfLink(link), bytes, link);
});
