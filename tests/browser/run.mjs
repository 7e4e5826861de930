// Two pages, a phone and a raw socket in one world: join, walk, look, talk, gather, build, hunt, grow, shoot, found a clan, and come back
// after a restart. One more page is the operator's, one looks at rooms, one is that of a document, and one loses its line.
// Real mouse, real keys, real touch, the real server with default flags, but for a smaller map. `node run.mjs [path of the server]`; screenshots
// go to tests/output/ (more of them with PICTURES=1), and what the server captured, for tests/wireshark/: session.pcapng.

import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keep } from './lib/browser.mjs';
import { FLAGS, Game } from './lib/game.mjs';
import { building } from './parts/building.mjs';
import { clans } from './parts/clans.mjs';
import { comforts } from './parts/comforts.mjs';
import { fighting } from './parts/fighting.mjs';
import { gathering } from './parts/gathering.mjs';
import { hunting } from './parts/hunting.mjs';
import { joining } from './parts/joining.mjs';
import { lacking } from './parts/lacking.mjs';
import { looking } from './parts/looking.mjs';
import { operator } from './parts/operator.mjs';
import { outages } from './parts/outages.mjs';
import { ownPage } from './parts/own-page.mjs';
import { phone } from './parts/phone.mjs';
import { pictures } from './parts/pictures.mjs';
import { restart } from './parts/restart.mjs';
import { returning } from './parts/returning.mjs';
import { rooms } from './parts/rooms.mjs';
import { tokens } from './parts/tokens.mjs';
import { walking } from './parts/walking.mjs';

const captured = fileURLToPath(new URL('../output/session.pcapng', import.meta.url));
await rm(captured, { force: true });
await mkdir(dirname(captured), { recursive: true });
const game = await new Game().open([...FLAGS, '--capture', captured]);
// It waits most of the time.
const apart = outages(game).catch((error) => game.check('a page that loses its line', () => { throw error; }));
try {
  const parts = [joining, walking, looking, gathering, building, comforts, hunting, fighting, clans, phone, operator, rooms, tokens, ownPage, returning, lacking, restart];
  // They are for people to look at, and check little: half a minute of bots.
  if (process.env.PICTURES) parts.splice(-1, 0, pictures);
  for (const part of parts) if (game.failed === 0) await part(game);
  await apart;
  if (game.failed > 0) await Promise.all([keep(game.ada, 'failed-ada'), keep(game.bo, 'failed-bo')]);
  await game.check('no page error, console error, warning or failed request', () => {
    assert.deepEqual(game.complaints.list, []);
  });
} finally {
  await game.browser.close();
  await game.server.stop().catch(() => game.server.kill());
}
if (game.failed > 0) console.log(`the server's log:\n${game.server.log().replace(/^/gm, '    ')}`);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
