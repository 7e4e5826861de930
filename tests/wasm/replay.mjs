// Replays a capture with src/web/wasm/tickwire.wasm, and prints the report as JSON. tests/peer/sessions.rs holds it against the native replay.
//
//   node tests/wasm/replay.mjs FILE.pcapng
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Explainer } from '../../src/web/inspector/explainer.js';

const explainer = await Explainer.from(readFileSync(fileURLToPath(new URL('../../src/web/wasm/tickwire.wasm', import.meta.url))));
explainer.setInput(readFileSync(process.argv[2]));
console.log(JSON.stringify(explainer.json(explainer.wasm.replay())));
