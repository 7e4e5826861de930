// Two servers behind HAProxy, set up as scripts/deploy/haproxy.cfg says; one of them drains. `node drain.mjs [path of the server]`.
// Needs haproxy.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { binary, start } from '../browser/lib/server.mjs';
import { PATH, ask, check, freePort, printCounts, until } from './servers.mjs';

const run = promisify(execFile);

/** The value of a metric of a server. */
async function metric(server, name) {
  const { body } = await ask(server.port, '/metrics', { Host: 'localhost' });
  return Number(body.match(new RegExp(`^${name} (\\d+)$`, 'm'))?.[1] ?? NaN);
}

/** Bots that play through the proxy for some seconds, and what they say at their end. */
const bots = (port, seconds) => run(binary(), ['bots', '--count', '3', '--seconds', String(seconds), `ws://127.0.0.1:${port}`]);

const folder = mkdtempSync(join(tmpdir(), 'tickwire-drain-'));
// Local requests, which the metrics need, come from an address that is no proxy's: 127.0.0.2 is HAProxy's.
const flags = ['--trusted-proxy', '127.0.0.2', '--drain-seconds', '600', '--resume-seconds', '0'];
const servers = [await start(0, flags), await start(0, flags)];
const [one, two] = servers;
const port = await freePort();
let config = readFileSync(new URL('../../scripts/deploy/haproxy.cfg', import.meta.url), 'utf8');
for (const [from, to] of [
  ['bind :80', `bind 127.0.0.1:${port}`],
  ['127.0.0.1:3000 cookie one', `127.0.0.1:${one.port} source 127.0.0.2 cookie one`],
  ['127.0.0.1:3001 cookie two', `127.0.0.1:${two.port} source 127.0.0.2 cookie two`],
]) {
  assert.ok(config.includes(from), from);
  config = config.replace(from, to);
}
writeFileSync(join(folder, 'haproxy.cfg'), config);
const proxy = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'inherit', env: { ...process.env, PATH } });

try {
  await until('the proxy answers', async () => (await ask(port, '/readyz')).status === 200);
  const playing = bots(port, 15);
  await check('players meet on the first server', () => until('three clients', async () => (await metric(one, 'tickwire_clients')) === 3));
  await check('a draining server gets no new clients, and its players notice nothing', async () => {
    one.order('drain');
    await until('it drains', async () => (await ask(one.port, '/readyz')).body === 'draining\n');
    // At once, before the proxy has checked: the second server answers in place of the 503.
    const { stdout } = await bots(port, 1);
    assert.match(stdout, /errors +0\n +disconnects +0\n/);
    assert.equal(await metric(two, 'tickwire_connections_accepted_total') >= 3, true);
    assert.equal(await metric(one, 'tickwire_draining'), 1);
  });
  await check('a page with the cookie of the draining server still reaches it', async () => {
    await until('the check has noticed it', async () => (await ask(port, '/readyz')).cookie.startsWith('SERVER=two'));
    const epoch = async (port, headers) => JSON.parse((await ask(port, '/rooms?format=json', headers)).body).rooms[0].epoch;
    assert.equal(await epoch(port, { Cookie: 'SERVER=one' }), await epoch(one.port));
    assert.equal(await epoch(port), await epoch(two.port));
  });
  await check('the draining server stops with its last player', async () => {
    const { stdout } = await playing;
    assert.match(stdout, /errors +0\n +disconnects +0\n/);
    await until('it has stopped', () => !one.isRunning());
    assert.match(one.log(), /stopped/);
    assert.equal((await ask(port, '/')).status, 200, 'the other one serves the page');
  });
} finally {
  proxy.kill();
  for (const server of servers) server.kill();
  rmSync(folder, { recursive: true, force: true });
}
printCounts();
