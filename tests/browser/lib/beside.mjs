// A proxy with one page of its own: it serves the page below `/games/`, and passes everything else there on to a server, WebSockets included.

import { createServer, request } from 'node:http';
import { connect } from 'node:net';

const BASE = '/games/';

/**
 * @param {string} name of the page @param {string} html
 * @param {string} path at the server that `/games/` stands for
 */
export async function serveBeside(name, html, path) {
  let port = 0;
  const target = (/** @type {string} */ url) => `${path}${url.slice(BASE.length)}`;
  const proxy = createServer((incoming, response) => {
    if (incoming.url === BASE + name) {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      return response.end(html);
    }
    const outgoing = request({ host: '127.0.0.1', port, path: target(incoming.url), headers: { host: `127.0.0.1:${port}` } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.writeHead(502).end());
    return outgoing.end();
  });
  proxy.on('upgrade', ({ url, rawHeaders }, near) => {
    const far = connect(port, '127.0.0.1');
    const headers = rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
    far.write(`GET ${target(url)} HTTP/1.1\r\n${headers}\r\n`);
    near.pipe(far).pipe(near);
    for (const [one, other] of [[near, far], [far, near]]) one.on('error', () => other.destroy());
  });
  await new Promise((ready) => { proxy.listen(0, '127.0.0.1', () => ready(undefined)); });
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (proxy.address()).port}${BASE}${name}`,
    /** The server to pass things on to. @param {number} there */
    to: (there) => { port = there; },
    close: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
