// A server with nginx and HAProxy before it, all on free ports, with the configurations of scripts/proxy/ and a certificate made now.

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from '../browser/lib/server.mjs';

const START_MS = 15000;
const SAMPLES = new URL('../../scripts/proxy/', import.meta.url);
/** Debian puts both where only root looks. */
const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;

/** So many ports that are free now. @param {number} count @returns {Promise<number[]>} */
async function freePorts(count) {
  const open = await Promise.all(Array.from({ length: count }, () => new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject).listen(0, '127.0.0.1', () => resolve(server));
  })));
  const ports = open.map((server) => server.address().port);
  await Promise.all(open.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** A sample with other values in place of its own, each of which must stand in it. @param {string} name @param {[string, string][]} changes */
function render(name, changes) {
  let text = readFileSync(new URL(name, SAMPLES), 'utf8');
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`${name} has no ${JSON.stringify(from)}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

export class Scene {
  /** Starts everything. @param {string[]} flags of the server */
  async open(flags) {
    this.folder = mkdtempSync(join(tmpdir(), 'tickwire-proxy-'));
    // nginx' workers are another user.
    chmodSync(this.folder, 0o755);
    this.children = [];
    this.output = '';
    try {
      this.certify();
      this.server = await start(0, flags);
      const [nginxPlain, nginxTls, haproxyPlain, haproxyTls, nginxBridge, haproxyBridge, nginxOwn, haproxyOwn] = await freePorts(8);
      this.ports = {
        nginx: { plain: nginxPlain, tls: nginxTls, bridge: nginxBridge, own: nginxOwn },
        haproxy: { plain: haproxyPlain, tls: haproxyTls, bridge: haproxyBridge, own: haproxyOwn },
      };
      this.nginx(this.ports.nginx);
      this.haproxy(this.ports.haproxy);
      this.bridges(this.ports);
      await Promise.all(Object.values(this.ports).flatMap((ports) => Object.values(ports)).map((port) => this.listening(port)));
    } catch (error) {
      await this.close();
      throw new Error(`${error.message}\n${this.logs()}`);
    }
    return this;
  }

  /** A certificate for this machine, which only this test trusts. */
  certify() {
    const [cert, key] = [this.file('cert.pem'), this.file('key.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'pipe' });
    this.certificate = readFileSync(cert);
    writeFileSync(this.file('both.pem'), Buffer.concat([this.certificate, readFileSync(key)]));
  }

  file(name) {
    return join(this.folder, name);
  }

  /** The sample as Debian includes it, with what stands around it there. */
  nginx({ plain, tls, own }) {
    const sample = render('nginx.conf', [
      ['listen 80;', `listen 127.0.0.1:${plain};`],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${tls} ssl http2;`],
      ['http://127.0.0.1:3000', `http://127.0.0.1:${this.server.port}`],
      ['/etc/ssl/tickwire', this.folder],
      ['/var/log/nginx', this.folder],
    ]);
    // nginx's own settings, HTTP/1.0 among them, and an address with its port, as some gateways write it.
    const defaults = `server { listen 127.0.0.1:${own}; location / { proxy_pass http://127.0.0.1:${this.server.port};
      proxy_set_header X-Forwarded-For "$remote_addr:$remote_port"; } }`;
    writeFileSync(this.file('tickwire.conf'), `${sample}${defaults}\n`);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${this.file(kind)};`);
    writeFileSync(this.file('nginx.conf'), `daemon off; pid ${this.file('nginx.pid')}; error_log stderr;
      events { worker_connections 2048; }
      http { ${temporary.join(' ')} include ${this.file('tickwire.conf')}; }\n`);
    this.run('nginx', ['-p', this.folder, '-c', this.file('nginx.conf'), '-e', 'stderr']);
  }

  haproxy({ plain, tls, own }) {
    const config = render('haproxy.cfg', [
      ['bind :80', `bind 127.0.0.1:${plain}`],
      ['bind :443', `bind 127.0.0.1:${tls}`],
      ['127.0.0.1:3000', `127.0.0.1:${this.server.port}`],
      ['/etc/ssl/tickwire', this.folder],
      ['log /dev/log local0', 'log stdout format raw local0'],
    ]);
    // A health check, which is HTTP/1.0 without a Host, and an address with its port.
    writeFileSync(this.file('own.cfg'), `
defaults
    mode http
    timeout connect 5s
    timeout client 75s
    timeout server 75s
frontend own
    bind 127.0.0.1:${own}
    http-request set-header X-Forwarded-For %[src]:%[src_port]
    default_backend checked
backend checked
    option httpchk GET /healthz
    server tickwire 127.0.0.1:${this.server.port} check inter 100ms fall 1 rise 1
`);
    this.run('haproxy', ['-db', '-f', this.file('own.cfg')]);
    writeFileSync(this.file('haproxy.cfg'), config);
    this.run('haproxy', ['-db', '-f', this.file('haproxy.cfg')]);
  }

  /** The bots speak no TLS: a proxy before each proxy does it for them, and checks the certificate. */
  bridges({ nginx, haproxy }) {
    const part = (name, { bridge, tls }) => `
frontend ${name}
    bind 127.0.0.1:${bridge}
    default_backend ${name}_tls
backend ${name}_tls
    server tls 127.0.0.1:${tls} ssl verify required ca-file ${this.file('cert.pem')} sni str(localhost) verifyhost localhost
`;
    writeFileSync(this.file('bridge.cfg'), `
defaults
    mode http
    timeout connect 5s
    timeout client 75s
    timeout server 75s
    option forwardfor
${part('nginx', nginx)}${part('haproxy', haproxy)}`);
    this.run('haproxy', ['-db', '-f', this.file('bridge.cfg')]);
  }

  run(program, args) {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PATH } });
    const ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(this.output += `${program}: ${error.message}\n`));
      child.once('exit', (code) => resolve(this.output += `${program} ended with ${code}\n`));
    });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { this.output += `${program}: ${data}`; });
    this.children.push({ child, ended });
  }

  /** Waits until somebody takes connections there. */
  async listening(port) {
    const late = performance.now() + START_MS;
    for (;;) {
      const open = await new Promise((resolve) => {
        const socket = net.connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
        socket.once('connect', () => socket.destroy());
      });
      if (open) return;
      if (performance.now() > late) throw new Error(`nobody listens on port ${port}`);
      await sleep(50);
    }
  }

  /** What server and proxies have said. */
  logs() {
    return `${this.output}the server's log:\n${this.server?.log() ?? ''}`;
  }

  /** The access log of a proxy. @param {string} proxy */
  accessLog(proxy) {
    return proxy === 'nginx' ? readFileSync(this.file('tickwire.log'), 'utf8') : this.output;
  }

  async close() {
    for (const { child } of this.children) child.kill('SIGTERM');
    await Promise.all(this.children.map(({ ended }) => ended));
    await this.server?.stop().catch(() => this.server?.kill());
    if (existsSync(this.folder)) rmSync(this.folder, { recursive: true, force: true });
  }
}
