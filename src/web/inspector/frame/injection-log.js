/**
 * Log of bytes that were sent on the connection of this browser's game: the frame that the server
 * read, its response, and the reconnect of the game. The explainer decodes the observed frames.
 *
 * @module inspector/frame/injection-log
 */

import { findNode } from './edit.js';
import { isCommand } from './key-presses.js';


const RFC = /^RFC (\d+) section ([\d.]+)$/;

/** Returns the URL of a section of an RFC; null for another address. @param {string} address */
export function linkOf(address) {
  const [, rfc, section] = RFC.exec(address) ?? [];
  return rfc ? `https://www.rfc-editor.org/rfc/rfc${rfc}#section-${section}` : null;
}

/** @typedef {import('../explainer.js').Explanation} Explanation */
/** @typedef {import('../explainer.js').Gone} Gone */

/**
 * Returns a node of the first frame.
 * @param {Explanation | Gone} explained @param {string} name
 */
const nodeOf = (explained, name) => (explained.gone ? undefined : findNode(explained.frames[0].tree, name));

/**
 * Returns the first problem of an explanation; null without a problem.
 * @param {Explanation} explained
 * @returns {import('../explainer.js').Problem | null}
 */
export const problemOf = (explained) => explained.frames.find((frame) => frame.problem)?.problem ?? null;

/** Whether a frame belongs to a message that it does not finish. @param {Explanation} explained */
const isUnfinished = (explained) => explained.frames[0]?.fin === 0 || explained.frames[0]?.fin === false;

/** Names the sender and the receiver of a frame. @param {Explanation} explained */
const ends = ({ from }) => (from === 'server' ? { sender: 'the server', receiver: 'your game' } : { sender: 'your game', receiver: 'the server' });

/** Describes what the receiver does with the bytes. @param {Explanation} explained */
export function verdict(explained) {
  const problem = problemOf(explained);
  const line = explained.frames[0]?.line ?? '';
  const { sender, receiver } = ends(explained);
  if (!problem) {
    const goesOn = isUnfinished(explained) ? `. The message is not finished: the next one that ${sender} begins will break the rule message_interrupted.` : '';
    return { kind: 'fine', rule: '', text: `No rule is broken. ${upper(receiver)} reads ${line}${goesOn}`, address: '' };
  }
  if (problem.rule === 'incomplete') {
    const text = `No rule is broken yet: ${problem.description}. ${upper(receiver)} waits, and takes whatever ${sender} sends next as the rest of this frame.`;
    return { kind: 'wait', rule: '', text, address: '' };
  }
  const answer = problem.response.startsWith('close ') ? `${upper(receiver)} answers with a close frame, ${problem.response.slice('close '.length)}.` : `Response: ${problem.response}.`;
  return { kind: 'broken', rule: problem.rule, text: `${upper(problem.description)}. ${answer}`, address: problem.citation };
}

/** Capitalizes a sentence and removes its full stop. @param {string} text */
const upper = (text) => (text.charAt(0).toUpperCase() + text.slice(1)).replace(/\.$/, '');

/**
 * @typedef {{ kind: 'sent' | 'no' | 'broken' | 'fine' | 'wait' | 'close' | 'over' |
 *   'back', rule?: string, text: string, address?: string }} Line
 */

/** Log of sent bytes. */
export class InjectionLog {
  constructor() {
    /** @type {Line[]} */
    this.lines = [];
    this.isActive = false;
    /** Client that sent the bytes. @type {number | null} */
    this.client = null;
    this.hasEnded = false;
    /** Whether the game has reconnected. */
    this.hasReconnected = false;
    this.isRead = false;
    /** Sent direction, until an update contains it. @type {number | null} */
    this.direction = null;
  }

  /**
   * Starts the log.
   * @param {string} digits sent bytes, in hexadecimal
   * @param {string} difference description of the changes
   */
  begin(digits, difference) {
    Object.assign(this, { isActive: true, client: null, hasEnded: false, hasReconnected: false, isRead: false, direction: null });
    this.lines = [{ kind: 'sent', text: `You sent ${digits.length / 2} bytes as your own client. ${difference}` }];
  }

  close() {
    this.isActive = false;
    this.lines = [];
  }

  /**
   * Receives the server's response to the request to send the bytes.
   * @param {{ injected: number | null, error?: string }} answer
   */
  answered({ injected, error }) {
    if (!this.isActive) return;
    this.client = injected;
    if (injected === null) this.lines.push({ kind: 'no', text: `Not sent: ${error ?? 'the server refuses'}.` });
  }

  /**
   * Receives an observed frame.
   * @param {import('../list/frames.js').Entry} entry
   * @param {(n: number) => Explanation | Gone} explain
   * @returns {boolean} whether the log has changed
   */
  observed(entry, explain) {
    if (!this.isActive) return false;
    if (this.hasEnded) return this.hasReconnected && this.onNextCommand(entry);
    if (entry.injected && entry.from === 'client') return this.read(explain(entry.n));
    if (!this.isRead || entry.from !== 'server') return false;
    if (entry.opcode === 'close') return this.closed(explain(entry.n));
    if (entry.packet === 'error' || entry.packet === 'command_rejected') return this.refused(explain(entry.n));
    if (entry.packet === 'update' && this.direction !== null) return this.updated(explain(entry.n));
    return false;
  }

  /** @param {Explanation | Gone} explained */
  read(explained) {
    if (explained.gone) return false;
    const isFirst = !this.isRead;
    this.isRead = true;
    const { kind, rule, text, address } = verdict(explained);
    const [frame] = explained.frames;
    const direction = kind === 'fine' && frame.packet === 'move' ? findNode(frame.tree, 'direction') : undefined;
    this.direction = typeof direction?.raw === 'number' ? direction.raw : null;
    const goesOn = isUnfinished(explained) ? ' The message is not finished.' : '';
    if (kind === 'fine') return this.add('fine', `${isFirst ? 'Nothing was broken: the server read' : 'Then it read'} ${after(frame.line)}.${goesOn}`);
    if (kind === 'wait') return this.add('wait', text);
    this.lines.push({ kind: 'broken', rule, text: `${upper(problemOf(explained)?.description ?? '')}.`, address });
    return true;
  }

  /** @param {Explanation | Gone} explained */
  closed(explained) {
    const [code, reason] = ['code', 'reason'].map((name) => nodeOf(explained, name)?.value);
    const why = reason ? `, reason ${reason}` : '';
    return this.add('close', code ? `The server answered with a close frame: ${code}${why}.` : 'The server answered with a close frame.');
  }

  /** @param {Explanation | Gone} explained */
  refused(explained) {
    const [rule, detail, reason] = ['rule', 'detail', 'reason'].map((name) => nodeOf(explained, name)?.raw);
    return this.add('no', `The server dropped it: ${rule ?? reason ?? 'an error'}${detail ? `, ${detail}` : ''}.`);
  }

  /** @param {Explanation | Gone} explained */
  updated(explained) {
    const own = nodeOf(explained, 'own');
    const direction = own && findNode(own, 'direction');
    if (!direction || direction.raw !== this.direction) return false;
    this.direction = null;
    return this.add('fine', `The next update of your player says: direction ${direction.value}. It walks that way until you press or release a key.`);
  }

  /** Records the end of the connection. @param {string} rule rule that closed it */
  ended(rule) {
    if (!this.isActive || this.hasEnded || this.client === null) return;
    this.hasEnded = true;
    this.add('over', `The connection ended: ${rule}.`);
  }

  /** Records the reconnect of the game. @param {number} id new client number of the game */
  onReconnected(id) {
    if (!this.isActive || !this.hasEnded || id === this.client) return;
    this.client = id;
    this.hasReconnected = true;
    this.add('back', `Your game has connected again, as client ${id}. Press a key, or move, to see your next frame.`);
  }

  /**
   * Closes the log at the first command of the reconnected game.
   * @param {import('../list/frames.js').Entry} entry
   */
  onNextCommand(entry) {
    if (entry.client !== this.client || !isCommand(entry) || ['join', 'enter_game'].includes(entry.packet ?? '')) return false;
    this.close();
    return true;
  }

  /** @param {Line['kind']} kind @param {string} text @returns {true} */
  add(kind, text) {
    this.lines.push({ kind, text });
    return true;
  }
}

/** Returns the part of an explainer line after the first colon. @param {string} line */
const after = (line) => line.slice(line.indexOf(': ') + 2);
