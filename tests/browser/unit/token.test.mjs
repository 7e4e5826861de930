// The token in a page's link.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findToken, withoutToken } from '../../../src/web/lib/address.js';

test('a token is found in a fragment or a query, and nothing else is taken from there', () => {
  for (const [text, token, rest] of [
    ['', null, ''],
    ['#', null, '#'],
    ['#token=abc', 'abc', ''],
    ['#token=a+b%2B%2F=', 'a+b+/=', ''],
    ['#token=%', '%', ''],
    ['#token=', null, ''],
    ['?inspector&token=abc', 'abc', '?inspector'],
    ['?token=abc&netem=wifi', 'abc', '?netem=wifi'],
    ['?a=1&token=abc&b=2', 'abc', '?a=1&b=2'],
    ['?my-token=abc', null, '?my-token=abc'],
    ['?tokens=abc', null, '?tokens=abc'],
  ]) {
    assert.equal(findToken(text), token, text);
    assert.equal(withoutToken(text), rest, text);
  }
});
