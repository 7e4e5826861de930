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

/** Values of a packet to the client. All are present; a nil value is null. */
export type IncomingValues<Values> = { [Argument in keyof Values]-?: Exclude<Values[Argument], undefined> };

/** Entity of an entity list: a packet in the lane `latest` with a list of groups `enter`. */
export type Entity<Values> = 0 extends 1 & Values ? any : Values extends { enter?: infer List } ? NonNullable<List> extends (infer One extends object)[] ? One : never : never;

/**
 * State that `newest` and `interpolated` return for a packet: its values, or for an entity list all
 * entities in view in order of id.
 */
export type State<Values> = 0 extends 1 & Values ? IncomingValues<Values> : [Entity<Values>] extends [never] ? IncomingValues<Values>
  : Pick<IncomingValues<Values>, keyof Values & 'tick'> & { entities: Entity<Values>[] };

/** Values of a packet to the server. `sequence`, `tick` and `render_tick` are filled in if omitted. */
export type OutgoingValues<Values> = Omit<Values, 'sequence' | 'tick' | 'render_tick'> & Partial<Pick<Values, keyof Values & ('sequence' | 'tick' | 'render_tick')>>;

/** Names of the packets of one direction. */
export type PacketName<Side> = keyof Side & string;

/** Values of a packet to the server. `send` needs no values if all arguments are optional. */
export type SendArguments<Values> = {} extends OutgoingValues<Values> ? [values?: OutgoingValues<Values>] : [values: OutgoingValues<Values>];

/** Reason why a connection ended. */
export interface CloseInfo {
  /** Code of the close frame; 1006 without a close frame. */
  code: number;
  /** Name of the server's rule, or ''. */
  reason: string;
  /** Description for the player. */
  text: string;
  /** Delay before the next attempt, ms; null if there is none. */
  retryMs: number | null;
}

/** Event after each `welcome`. */
export interface OpenInfo<Welcome> {
  welcome: Welcome;
  /** Whether the connection follows an outage. */
  isReconnect: boolean;
  /** Whether the world is new to the page. If so, the state of an earlier world is invalid. */
  isNewWorld: boolean;
}

/** Event `error`: the packet, or the rule `unreadable` for bytes that are not a packet. */
export interface GameError {
  rule: string;
  detail: string;
}

/** Identity of the game. */
export type Welcome<ToClient> = ToClient extends { welcome: infer Values } ? IncomingValues<Values> : Packets;

/** Handlers of packets and events, by name. */
export type Handlers<ToClient> = { [Packet in PacketName<ToClient>]?: (values: IncomingValues<ToClient[Packet]>) => void } & {
  open?: (event: OpenInfo<Welcome<ToClient>>) => void;
  close?: (event: CloseInfo) => void;
  error?: (event: GameError) => void;
};

export interface Options<ToClient> {
  /** Name of the player. */
  name?: string;
  /** True to spectate until `game.join()`. */
  spectate?: boolean;
  /** Player token; default: `#token=…` of the page's link. */
  token?: string;
  /** Further arguments of `hello` and `join`, such as a colour. */
  hello?: Packets;
  /**
   * True for positions in pixels and angles in radians, in both directions. Default: the integers
   * of the packets.
   */
  units?: boolean;
  /** Dialect; default: the first dialect with both `hello` and `welcome`. */
  dialect?: string;
  /** Endpoint, relative to the module; default: `play`. */
  path?: string;
  /**
   * Room: a name, '' for the default room, or `any` for the fullest room that fits and has a free
   * place, or a new one. Default: the room of the module's address. A room in the page's address
   * precedes `any`, and `?room=` precedes both.
   */
  room?: string;
  /** With `room: 'any'`: properties that the room must have, such as `{ state: 'lobby' }`. */
  where?: Record<string, string | number | boolean>;
  /**
   * Packet tables or their address; default: `codes.json` in the folder of the endpoint, fetched
   * for each connection.
   */
  codes?: object | string;
  /** True to predict the local player with the rules of the game, for `game.predicted`. */
  predict?: boolean;
  /**
   * `lockstep`: the page runs the room's world, and `tickwire.wasm` must contain the game's rules.
   * If lockstep is unavailable, the page receives a stream; see `game.lockstep`.
   */
  mode?: 'stream' | 'lockstep' | null;
  /** Name of the game for `mode`. */
  game?: string;
  /**
   * Simulated network: `wifi`, or `delay=150ms,loss=2%`; '' for a network without delay until
   * `game.netem()` changes it; default: `?netem=` of the page's address, or none.
   */
  net?: string;
  /**
   * Whether to use datagrams in addition to the WebSocket, if the server has lanes (`--lane`) and
   * the browser has data channels; default: true.
   */
  lane?: boolean;
  /** Handlers, as for `game.on`. They also receive the events before the first `welcome`. */
  on?: Handlers<ToClient>;
  /** WebSocket class for Node before 22. */
  WebSocket?: new (url: URL, protocols: string[]) => any;
}

/**
 * Desync report of a tick. `groups` contains each checksum with its participants; the server's
 * checksum is first. `fields` contains the differing fields, with the values of the server and of
 * the participant.
 */
export interface DesyncReport {
  tick: number;
  groups: [checksum: string, participants: string[]][];
  omitted: number;
  fields: { participant: string; entity: string; field: string; server: string | null; own: string | null }[];
}

/** Status of the world in this page. Only the first three fields exist before it is loaded. */
export interface Lockstep {
  isActive: boolean;
  /** Reason for the fallback to a stream, as a sentence; '' without a fallback. */
  fallbackReason: string;
  /**
   * `bytesIn`: bytes of the received messages for the world. `bytesStream`: bytes of the packets
   * that a stream would have contained instead.
   */
  counts: { bytesIn: number; bytesStream: number };
  /** Completed ticks; null before the first snapshot. */
  tick?: number | null;
  player?: number | null;
  /** Number of ticks executed in this page. */
  ticks?: number;
  /** Number of snapshots loaded. */
  syncs?: number;
  /** Number of checksums sent. */
  checksums?: number;
  /** Number of sent checksums that differed from the server's. */
  differed?: number;
  /** Field that this page changed last. */
  corrupted?: { tick: number; entity: string; field: string; before: string | null; after: string | null } | null;
  report?: DesyncReport | null;
}

/**
 * Features that docs/sync.md explains. `interpolation` and `deadReckoning` affect `interpolated`.
 */
export interface Features {
  prediction: boolean;
  reconciliation: boolean;
  interpolation: boolean;
  deadReckoning: boolean;
}

/** Simulated network between a page and its server. */
export interface NetworkConditions {
  /** Named network conditions. */
  presets: { name: string; about: string }[];
  /** Current conditions with all their values, or an error. */
  net: { net?: string; error?: string };
  /** Sets the conditions for all messages that are sent from now on; '' for no delay. */
  setNetem(text: string): Promise<{ net?: string; error?: string }>;
}

/** Connection to a game, created by `connect`. */
export interface Game<ToServer, ToClient> {
  /** `reconnecting` during an outage, `closed` for good. */
  readonly state: 'connecting' | 'open' | 'reconnecting' | 'closed';
  /** Identity of the game: seed, rates, epoch; null before `welcome`. */
  readonly welcome: Welcome<ToClient> | null;
  /** Number of the local player; null while the page has no player. */
  readonly player: number | null;
  /**
   * Room. `name`: '' for the default room, null until the server has chosen one; `link`: address for
   * friends, which leads to the same room.
   */
  readonly room: { readonly name: string | null; readonly link: string };
  /**
   * Resume key of the last connection, by which the inspector finds the client of the page; ''
   * before the first.
   */
  readonly resumeKey: string;
  /** Reason why there is no connection; null while there is one. */
  readonly closed: CloseInfo | null;
  /** Median of the recent round trips, ms; null before the first. */
  readonly ping: number | null;
  /** Estimated number of ticks that the server has completed; null before `welcome`. */
  readonly tick: number | null;
  /** Counters of the page. */
  readonly counts: Readonly<Record<'messagesIn' | 'messagesOut' | 'bytesIn' | 'bytesOut' | 'unknown' | 'unreadable', number>>;
  /**
   * Adds a handler for the packets or events of a name. Returns a function that removes the
   * handler.
   */
  on<Packet extends keyof Handlers<ToClient>>(name: Packet, handler: NonNullable<Handlers<ToClient>[Packet]>): () => void;
  /** Sends a packet. Without a connection, drops the packet and returns false. */
  send<Packet extends PacketName<ToServer>>(name: Packet, ...values: SendArguments<ToServer[Packet]>): boolean;
  /** Joins the game. Called while spectating or after death. */
  join(values?: Packets): boolean;
  /** Newest values of a packet; of an entity list, the state `{ tick, entities }` after it. */
  newest<Packet extends PacketName<ToClient>>(name: Packet): State<ToClient[Packet]> | null;
  /** Newest entities of an entity list by id; empty before its first packet. */
  entities<Packet extends PacketName<ToClient>>(name: Packet): ReadonlyMap<number, Entity<ToClient[Packet]>>;
  /**
   * Returns the interpolated values of a packet about two updates ago. If updates are missing, the
   * values are extrapolated for a moment. Of an entity list, the `entities` are interpolated.
   * `fields`: further numbers to interpolate; `extrapolate`: lists that the game's rules
   * extrapolate.
   */
  interpolated<Packet extends PacketName<ToClient>>(name: Packet, how?: { fields?: string[]; extrapolate?: string[]; now?: number }): State<ToClient[Packet]> | null;
  /**
   * Returns the predicted local player, after all commands that were sent. Null without `predict`
   * or without a living local player.
   */
  predicted(now?: number): { tick: number; x: number; y: number; numbers: number[] } | null;
  /** Lead and corrections of the prediction; null without `predict`. */
  readonly prediction: { isActive: boolean; why: string; leadMs: number; compared: number; corrected: number; lastErrorPx: number; p99ErrorPx: number } | null;
  /**
   * Status of the lane for datagrams: whether it is on, whether datagrams pass (`isUsable`), whether
   * it is opening (`isWaiting`), the reason why it is not in use (`why`), its round trip, and
   * counts. Null if the server has no lanes or the browser has no data channels.
   */
  readonly lane: {
    isOn: boolean; isUsable: boolean; isWaiting: boolean; why: string; tripMs: number | null;
    stats: { sent: number; received: number; repeated: number; late: number } | null;
    missing: { sent: number; missing: number } | null;
  } | null;
  /** Turns the lane for datagrams on or off. */
  useLane(isOn: boolean): void;
  /** Turns features on or off, to demonstrate the effect of each. */
  setFeatures(features: Partial<Features>): void;
  /** Features that are on. */
  readonly features: Features;
  /** Delay of the rendered state after the newest received state, ms; null before `welcome`. */
  readonly interpolationDelay: number | null;
  /** Simulated network of the option `net`. */
  netem(): Promise<NetworkConditions>;
  /** Status of the world in this page; null without the option `mode`. */
  readonly lockstep: Lockstep | null;
  /**
   * In lockstep, changes a field of this page's world before the next checksum, to demonstrate a
   * desync report.
   */
  corrupt(seed?: number): void;
  /** Leaves the game and does not reconnect. */
  close(): void;
}

/** Connects to the server of this module. */
export function connect<ToServer = Packets, ToClient = Packets>(options?: Options<NoInfer<ToClient>>): Promise<Game<ToServer, ToClient>>;

/** `localStorage`. If the browser forbids it, the values last as long as the page. */
export const local: { getItem(key: string): string | null; setItem(key: string, value: string): void; removeItem(key: string): void };

/** Returns the address of a new private room of this page's game; null if there is none. */
export function newPrivateRoomUrl(): Promise<string | null>;

/**
 * Keys of a list that are held down. All are released when the page may miss a release, for example
 * by Cmd, another window or a menu.
 */
export class HeldKeys implements Iterable<string> {
  /**
   * `codes`: as in `event.code`. `changed`: called at each press and release; the code is null when
   * all are released.
   */
  constructor(codes: Iterable<string>, changed?: (code: string | null, isDown: boolean) => void);
  /** The most recently pressed key that is still down. */
  readonly newest: string | null;
  has(code: string): boolean;
  [Symbol.iterator](): Iterator<string>;
  /** Presses a key, for a button on the screen. */
  press(code: string): void;
  release(code: string): void;
  releaseAll(): void;
}

/** Two sticks on a touch screen, one for each thumb, wherever it touches its half of an element. */
export class ThumbSticks {
  /** `changed`: called after a press or a release. `middle`: where the right half begins, px. */
  constructor(element: HTMLElement, changed?: () => void, middle?: () => number);
  /** Whether the main button of the mouse is down. */
  readonly isMouseDown: boolean;
  /** Direction of a stick in radians, 0 to the right; null at rest. */
  angle(side: 'left' | 'right'): number | null;
  /** Draws the sticks that are touched, in CSS px of the window. */
  draw(context: CanvasRenderingContext2D): void;
}

/** Fingers, pens and the main mouse button that are held down since a press on an element. */
export class HeldPointers {
  /** `released` is called once for each pointer, with its `pointerId`. */
  constructor(element: HTMLElement, on: { pressed?: (event: PointerEvent) => void; moved?: (event: PointerEvent) => void; released?: (pointer: number) => void });
  has(pointer: number): boolean;
  release(pointer: number): void;
  releaseAll(): void;
}
