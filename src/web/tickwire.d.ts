/**
 * Types of `tickwire.js` for a page in TypeScript. The packets of a game come from
 * `tickwire codes --format typescript`:
 *
 *     import { connect } from './tickwire.js';
 *     import type { NativeToClient, NativeToServer } from './packets.js';
 *     const game = await connect<NativeToServer, NativeToClient>({ name: 'Ann' });
 */

/** Packets by name, with their values by argument name. */
export type Packets = Record<string, any>;

/** The values of a packet of the server: none is left out, nil is null. */
export type IncomingValues<Values> = { [Argument in keyof Values]-?: Exclude<Values[Argument], undefined> };

/** The values of a packet to the server: `sequence`, `tick` and `seen` are filled in. */
export type OutgoingValues<Values> = Omit<Values, 'sequence' | 'tick' | 'seen'> & Partial<Pick<Values, keyof Values & ('sequence' | 'tick' | 'seen')>>;

/** Names of the packets of one direction. */
export type PacketName<Side> = keyof Side & string;

/** The values of a packet to the server, if it has any; `send` needs none where all may be left out. */
export type SendArguments<Values> = {} extends OutgoingValues<Values> ? [values?: OutgoingValues<Values>] : [values: OutgoingValues<Values>];

/** Why a connection ended. */
export interface CloseInfo {
  /** Of the close frame; 1006 without one. */
  code: number;
  /** The name of the server's rule, or ''. */
  reason: string;
  /** The same for people. */
  text: string;
  /** Time until the next try, in ms; null if there is none. */
  retryMs: number | null;
}

/** The server has said `welcome`. */
export interface OpenInfo<Welcome> {
  welcome: Welcome;
  /** Whether it is after an outage. */
  isReconnect: boolean;
  /** Whether it is not the game of before, so that what the page remembers of that is void. */
  isNewWorld: boolean;
}

/** What `error` hears: the packet, or the rule `unreadable` for bytes that are no packet. */
export interface GameError {
  rule: string;
  detail: string;
}

/** What the server has said to identify the game. */
export type Welcome<ToClient> = ToClient extends { welcome: infer Values } ? IncomingValues<Values> : Packets;

/** Handlers by name, of packets and of events. */
export type Handlers<ToClient> = { [Packet in PacketName<ToClient>]?: (values: IncomingValues<ToClient[Packet]>) => void } & {
  open?: (event: OpenInfo<Welcome<ToClient>>) => void;
  close?: (event: CloseInfo) => void;
  error?: (event: GameError) => void;
};

export interface Options<ToClient> {
  /** The player's name. */
  name?: string;
  /** True to look on, until `game.enter()`. */
  spectate?: boolean;
  /** Where only holders of a token play; default: that of the page's link, `#token=…`. */
  token?: string;
  /** Further arguments of `hello` and `enter`, such as a colour. */
  hello?: Packets;
  /** True for places in pixels and angles in radians, in both directions; otherwise each number is the one that is sent. */
  units?: boolean;
  /** Default: the first one that has both `hello` and `welcome`. */
  dialect?: string;
  /** Of the endpoint, relative to the module; default: `play`. */
  path?: string;
  /** The packet tables, or where they are; default: `codes.json` beside the endpoint, fetched for each connection. */
  codes?: object | string;
  /** The name of the game, to run the player's own part of it ahead of the server: `game.predicted`. */
  predict?: string;
  /** `lockstep`: the page runs the room's world itself, `game.lockstep`; where that cannot be had, it follows as a stream. `tickwire.wasm` must have the game's rules. */
  mode?: 'stream' | 'lockstep';
  /** The name of the game, for `mode`; default: that of `predict`. */
  game?: string;
  /** A simulated line between the page and its server: `wifi`, or `delay=150ms,loss=2%`; '' for one that is perfect until `game.netem()` changes it; default: that of the page's address, `?net=wifi`, or none. */
  net?: string;
  /** Handlers, as for `game.on`: they also hear what happens before the first `welcome`. */
  on?: Handlers<ToClient>;
  /** For Node before 22. */
  WebSocket?: new (url: URL, protocols: string[]) => any;
}

/** Worlds that differed after a tick: the checksums, the server's first, with those who have them; and fields, with the server's value and the participant's own. */
export interface DesyncReport {
  tick: number;
  groups: [checksum: string, participants: string[]][];
  more: number;
  fields: { participant: string; entity: string; field: string; server: string | null; own: string | null }[];
}

/** The world that a page runs. All but the first three are missing until it has begun. */
export interface Lockstep {
  isActive: boolean;
  /** Why the page follows as a stream, in a sentence; '' while it does not. */
  fallbackReason: string;
  /** Bytes of the messages that came for the world, and of those that a stream would have had in their place. */
  counts: { bytesIn: number; bytesStream: number };
  /** Ticks that are completed; null before the first snapshot. */
  tick?: number | null;
  player?: number | null;
  /** That were run here. */
  ticks?: number;
  /** Snapshots from which it began. */
  syncs?: number;
  /** That were sent, and how many of these were not those of the server. */
  checksums?: number;
  differed?: number;
  /** The field that this page has changed last. */
  corrupted?: { tick: number; entity: string; field: string; before: string | null; after: string | null } | null;
  report?: DesyncReport | null;
}

/** What sync.md explains: `interpolation` and `deadReckoning` (dead reckoning) are what `interpolated` does. */
export interface Features {
  prediction: boolean;
  reconciliation: boolean;
  interpolation: boolean;
  deadReckoning: boolean;
}

/** A simulated line between a page and its server. */
export interface NetworkConditions {
  /** Conditions with a name. */
  presets: { name: string; about: string }[];
  /** What holds now, in figures, or why there is no such line. */
  net: { net?: string; error?: string };
  /** Changes the conditions of everything that is sent from now on; '' for a perfect line. */
  setNetem(text: string): Promise<{ net?: string; error?: string }>;
}

/** A game that the page is connected to, made by `connect`. */
export interface Game<ToServer, ToClient> {
  /** `reconnecting` while it tries to come back, `closed` for good. */
  readonly state: 'connecting' | 'open' | 'reconnecting' | 'closed';
  /** How the server has identified the game: seed, rates, epoch; null before that. */
  readonly welcome: Welcome<ToClient> | null;
  /** The player's own number; null without one. */
  readonly player: number | null;
  /** Why there is no connection now; null while there is one. */
  readonly closed: CloseInfo | null;
  /** Round trip in ms, the median of the last ones; null before the first. */
  readonly ping: number | null;
  /** Ticks that the server has completed by now, as far as the page can know; null before `welcome`. */
  readonly tick: number | null;
  /** Since the page was opened. */
  readonly counts: Readonly<Record<'messagesIn' | 'messagesOut' | 'bytesIn' | 'bytesOut' | 'unknown' | 'unreadable', number>>;
  /** Calls a function for each packet of a name, or each event; the result takes it away again. */
  on<Packet extends keyof Handlers<ToClient>>(name: Packet, handler: NonNullable<Handlers<ToClient>[Packet]>): () => void;
  /** Sends a packet; false without a connection. */
  send<Packet extends PacketName<ToServer>>(name: Packet, ...values: SendArguments<ToServer[Packet]>): boolean;
  /** Begins to play, as a watcher or after death. */
  enter(values?: Packets): boolean;
  /** The newest values of a packet. */
  newest<Packet extends PacketName<ToClient>>(name: Packet): IncomingValues<ToClient[Packet]> | null;
  /** Values of a packet as they were about two updates ago, so that things move evenly; without news they go on for a moment. `extrapolate`: lists of those who go on by the rules of the game. */
  interpolated<Packet extends PacketName<ToClient>>(name: Packet, how?: { fields?: string[]; extrapolate?: string[]; now?: number }): IncomingValues<ToClient[Packet]> | null;
  /** The player's own part of the game ahead of the server, after the commands that were sent; null without `predict` and without a body. */
  predicted(now?: number): { tick: number; x: number; y: number; numbers: number[] } | null;
  /** How far that is ahead of the newest update, and what the server has corrected; null without `predict`. */
  readonly prediction: { isActive: boolean; why: string; leadMs: number; compared: number; corrected: number; lastErrorPx: number; p99ErrorPx: number } | null;
  /** Turns parts off or on, to show what each does. */
  setFeatures(features: Partial<Features>): void;
  /** What is on. */
  readonly features: Features;
  /** How far behind the newest state `interpolated` shows, ms; null before `welcome`. */
  readonly interpolationDelay: number | null;
  /** The simulated line, with the option `net`. */
  netem(): Promise<NetworkConditions>;
  /** The world that this page runs; null without the option `mode`. */
  readonly lockstep: Lockstep | null;
  /** In lockstep, changes a field of the own world at the next checksum, to see what the server does about it. */
  corrupt(seed?: number): void;
  /** Leaves the game for good. */
  close(): void;
}

/** Connects to the server of this module, and greets it. */
export function connect<ToServer = Packets, ToClient = Packets>(options?: Options<ToClient>): Promise<Game<ToServer, ToClient>>;

/** `localStorage`, or where the browser forbids it, a storage that lasts as long as the page. */
export const local: { getItem(key: string): string | null; setItem(key: string, value: string): void; removeItem(key: string): void };

/** The address of a new private room of this page's game; null if there is none to be had. */
export function newPrivateRoomUrl(): Promise<string | null>;

/** The keys of a list that are down; all are released when the page may miss a release, as by Cmd, another window or a menu. */
export class HeldKeys implements Iterable<string> {
  /** `codes`: as in `event.code`. `changed`: called at each press and release; the code is null when all are released at once. */
  constructor(codes: Iterable<string>, changed?: (code: string | null, isDown: boolean) => void);
  /** The key that was pressed last, of all that are down. */
  readonly newest: string | null;
  has(code: string): boolean;
  [Symbol.iterator](): Iterator<string>;
  /** For a button on the screen. */
  press(code: string): void;
  release(code: string): void;
  releaseAll(): void;
}

/** The fingers, and the main button of the mouse, that were pressed on an element. */
export class HeldPointers {
  /** `released` is called once for each pointer, with its `pointerId`. */
  constructor(element: HTMLElement, on: { pressed?: (event: PointerEvent) => void; moved?: (event: PointerEvent) => void; released?: (pointer: number) => void });
  has(pointer: number): boolean;
  release(pointer: number): void;
  releaseAll(): void;
}
