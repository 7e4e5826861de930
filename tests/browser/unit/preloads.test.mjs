// The pages preload each module that they import, and nothing else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGES, importsOf, linksOf, modulesOf, read, withLinks } from '../lib/preloads.mjs';

test('every form of a static import is found', () => {
  const text = `import { a } from './a.js';\nimport '../b.js';\nexport { c } from './c.js';\nimport {\n  d,\n} from './d/d.js';
/** @type {import('./type.js').T} */\nconst later = () => import('./later.js');\n`;
  assert.deepEqual(importsOf('game/main.js', text), ['game/a.js', 'b.js', 'game/c.js', 'game/d/d.js']);
});

for (const page of PAGES) {
  test(`${page} preloads each module that it imports, and nothing else`, () => {
    assert.deepEqual(linksOf(page), modulesOf(page), 'run node tests/browser/lib/preloads.mjs');
    assert.equal(withLinks(page), read(page));
  });
}
