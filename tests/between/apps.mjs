// Six applications of other people, each a server with a page that has a box and a log. Each page says `hello` in its own
// protocol when its button is pressed, and prints what arrives.

import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { decode, encode } from '@msgpack/msgpack';
import { Aedes } from 'aedes';
import { GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { Server as SocketIo } from 'socket.io';
import { createWebSocketStream, WebSocketServer } from 'ws';

const file = (path) => readFileSync(fileURLToPath(new URL(`node_modules/${path}`, import.meta.url)));

/** A page whose script sets `window.say` and calls `log`. @param {string} script @param {string} [head] */
const page = (script, head = '') => `<!doctype html><meta charset="utf-8"><title>app</title>${head}
<ol id="log"></ol><script type="module">
const log = (text) => { const li = document.createElement('li'); li.textContent = text; document.querySelector('#log').append(li); };
const url = (path) => location.origin.replace('http', 'ws') + path;
${script}
</script>`;

/**
 * Starts an application on a free port.
 * @param {string} html its page @param {Record<string, Buffer>} files further files by path
 * @param {(server: import('node:http').Server) => void} attach
 */
async function serve(html, files, attach) {
  const server = createServer((request, response) => {
    const path = request.url.split('?')[0];
    if (path === '/') response.setHeader('Content-Type', 'text/html').end(html);
    else if (files[path]) response.setHeader('Content-Type', 'text/javascript').end(files[path]);
    else if (!path.startsWith('/socket.io/')) { response.statusCode = 404; response.end(); }
  });
  attach(server);
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { port: server.address().port, stop: () => { server.closeAllConnections(); server.close(); } };
}

/** A chat on `ws` with compression: each message goes to everybody. */
const chat = () => serve(page(`
const socket = new WebSocket(url('/chat'));
socket.onopen = () => log('open');
socket.onmessage = ({ data }) => log(JSON.parse(data).text);
window.say = (text) => socket.send(JSON.stringify({ type: 'chat', text }));
`), {}, (server) => {
  const all = new WebSocketServer({ server, perMessageDeflate: { threshold: 0 } });
  all.on('connection', (socket) => socket.on('message', (data) => all.clients.forEach((one) => one.send(String(data)))));
});

/** MessagePack without a table. */
const packed = () => serve(page(`
const { decode, encode } = MessagePack;
const socket = new WebSocket(url('/packed'));
socket.binaryType = 'arraybuffer';
socket.onopen = () => log('open');
socket.onmessage = ({ data }) => log(decode(new Uint8Array(data)).text);
window.say = (text) => socket.send(encode({ type: 'chat', text }));
`, '<script src="msgpack.js"></script>'), { '/msgpack.js': file('@msgpack/msgpack/dist.umd/msgpack.min.js') }, (server) => {
  const all = new WebSocketServer({ server });
  all.on('connection', (socket) => socket.on('message', (data) => socket.send(encode({ ...decode(data), by: 'server' }))));
});

/** socket.io, upgraded from HTTP long polling. */
const socketIo = () => serve(page(`
import { io } from './socket.io.mjs';
const socket = io();
socket.on('connect', () => {
  const { engine } = socket.io;
  if (engine.transport.name === 'websocket') log('open');
  else engine.once('upgrade', () => log('open'));
});
socket.on('chat', (text) => log(text));
window.say = (text) => socket.emit('chat', text);
`), { '/socket.io.mjs': file('socket.io-client/dist/socket.io.esm.min.js') }, (server) => {
  const io = new SocketIo(server);
  io.on('connection', (socket) => socket.on('chat', (text) => io.emit('chat', text)));
});

/** A GraphQL subscription by the protocol of graphql-ws. */
const graphql = () => serve(page(`
const socket = new WebSocket(url('/graphql'), 'graphql-transport-ws');
socket.onopen = () => socket.send(JSON.stringify({ type: 'connection_init' }));
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === 'connection_ack') log('open');
  if (message.type === 'next') log(message.payload.data.said);
};
window.say = (text) => socket.send(JSON.stringify({ id: String(Math.random()), type: 'subscribe', payload: { query: 'subscription ($t: String) { said(text: $t) }', variables: { t: text } } }));
`), {}, (server) => {
  const said = { type: GraphQLString, args: { text: { type: GraphQLString } }, async *subscribe(_, { text }) { yield { said: text }; } };
  const schema = new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: { hello: { type: GraphQLString } } }),
    subscription: new GraphQLObjectType({ name: 'Subscription', fields: { said } }),
  });
  useServer({ schema }, new WebSocketServer({ server, path: '/graphql' }));
});

/** An MQTT broker over WebSocket. */
async function mqtt() {
  const broker = await Aedes.createBroker();
  const app = await serve(page(`
const client = mqtt.connect(url('/mqtt'));
client.on('connect', () => client.subscribe('chat', () => log('open')));
client.on('message', (topic, payload) => log(new TextDecoder().decode(payload)));
window.say = (text) => client.publish('chat', text);
`, '<script src="mqtt.js"></script>'), { '/mqtt.js': file('mqtt/dist/mqtt.min.js') }, (server) => {
    const all = new WebSocketServer({ server, path: '/mqtt', handleProtocols: () => 'mqtt' });
    all.on('connection', (socket, request) => broker.handle(createWebSocketStream(socket), request));
  });
  return { ...app, stop: () => { broker.close(); app.stop(); } };
}

/** Frames as Phoenix has them: an array of references, topic, event and payload. */
const phoenix = () => serve(page(`
const socket = new WebSocket(url('/socket/websocket?vsn=2.0.0'));
let ref = 0;
const push = (event, payload) => socket.send(JSON.stringify(['1', String(ref += 1), 'room:lobby', event, payload]));
socket.onopen = () => push('phx_join', {});
socket.onmessage = ({ data }) => {
  const [, , , event, payload] = JSON.parse(data);
  if (event === 'phx_reply') log('open');
  if (event === 'shout') log(payload.body);
};
window.say = (text) => push('shout', { body: text });
`), {}, (server) => {
  const all = new WebSocketServer({ server });
  all.on('connection', (socket) => socket.on('message', (data) => {
    const [join, ref, topic, event, payload] = JSON.parse(data);
    const isJoin = event === 'phx_join';
    socket.send(JSON.stringify([join, isJoin ? ref : null, topic, isJoin ? 'phx_reply' : event, isJoin ? { status: 'ok', response: {} } : payload]));
  }));
});

/** A PUBLISH packet of MQTT in hexadecimal. The broker sends its header and its payload in messages of their own. @param {string} text */
export function mqttPublish(text) {
  const topic = Buffer.from('chat');
  return Buffer.concat([Buffer.from([0x30, 2 + topic.length + text.length, 0, topic.length]), topic, Buffer.from(text)]).toString('hex');
}

export const APPS = { chat, packed, 'socket.io': socketIo, graphql, mqtt, phoenix };
