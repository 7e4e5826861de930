// The rules of the world for tests without a server: importing this gives them to the page's modules.
import { readFileSync } from 'node:fs';
import { rules, setRules } from '../../../src/web/game/rules/rules.js';

setRules(JSON.parse(readFileSync(new URL('../../../src/web/rules.json', import.meta.url), 'utf8')));

export { rules };
