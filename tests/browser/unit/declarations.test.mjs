// `tickwire.d.ts` declares what `tickwire.js` exports.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as exported from '../../../src/web/tickwire.js';

const text = readFileSync(new URL('../../../src/web/tickwire.d.ts', import.meta.url), 'utf8');
const declared = (/** @type {string} */ kinds) => [...text.matchAll(new RegExp(`^export (?:${kinds}) (\\w+)`, 'gm'))].map(([, name]) => name);

test('tickwire.d.ts declares each export of tickwire.js, and no value besides', () => {
  const names = Object.keys(exported);
  const all = declared('function|const|class|interface|type');
  assert.deepEqual(names.filter((name) => !all.includes(name)), [], 'not declared');
  assert.deepEqual(declared('function|const|class').filter((name) => !names.includes(name)), [], 'not exported');
});

const KINDS = { input: 'Input', textarea: 'TextArea', select: 'Select', button: 'Button', details: 'Details', canvas: 'Canvas', form: 'Form', dialog: 'Dialog', tbody: 'TableSection', a: 'Anchor' };

for (const page of ['inspector', 'admin', 'quiz']) {
  test(`${page}/elements.d.ts declares each element with an id of ${page}.html`, () => {
    const web = (/** @type {string} */ name) => readFileSync(new URL(`../../../src/web/${name}`, import.meta.url), 'utf8');
    const elements = [...web(`${page}.html`).matchAll(/<([a-z0-9]+)[^>]*? id="([^"]+)"/g)].map(([, tag, id]) => `${id}: HTML${KINDS[tag] ?? ''}Element`);
    const declared = [...web(`${page}/elements.d.ts`).matchAll(/^  '?([\w-]+)'?: (\w+);$/gm)].map(([, id, type]) => `${id}: ${type}`);
    assert.deepEqual(declared.sort(), elements.sort());
  });
}
