/** Elements of `admin.html` by id. A unit test compares them with the page. */
export interface Elements {
  announce: HTMLInputElement;
  'announce-form': HTMLFormElement;
  'announce-title': HTMLElement;
  console: HTMLElement;
  'console-title': HTMLElement;
  count: HTMLButtonElement;
  figures: HTMLElement;
  'figures-title': HTMLElement;
  forget: HTMLButtonElement;
  grant: HTMLDialogElement;
  'grant-amount': HTMLInputElement;
  'grant-resource': HTMLSelectElement;
  'grant-title': HTMLElement;
  line: HTMLInputElement;
  'line-form': HTMLFormElement;
  log: HTMLElement;
  measure: HTMLButtonElement;
  memory: HTMLTableSectionElement;
  'memory-card': HTMLElement;
  'memory-note': HTMLElement;
  'memory-table': HTMLElement;
  'memory-title': HTMLElement;
  nobody: HTMLElement;
  players: HTMLTableSectionElement;
  'players-card': HTMLElement;
  'players-count': HTMLElement;
  'players-title': HTMLElement;
  room: HTMLSelectElement;
  'room-choice': HTMLElement;
  save: HTMLButtonElement;
  status: HTMLElement;
  'status-text': HTMLElement;
  stop: HTMLButtonElement;
  token: HTMLInputElement;
  'token-error': HTMLElement;
  'token-form': HTMLFormElement;
  traffic: HTMLTableSectionElement;
  'traffic-card': HTMLElement;
  'traffic-note': HTMLElement;
  'traffic-table': HTMLElement;
  'traffic-title': HTMLElement;
}

/** Returns an element of the page. */
export type ById = <Id extends keyof Elements>(id: Id) => Elements[Id];
