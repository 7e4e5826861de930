/** Elements of `quiz.html` by id. A unit test compares them with the page. */
export interface Elements {
  answer: HTMLTextAreaElement;
  'answer-form': HTMLFormElement;
  bits: HTMLElement;
  check: HTMLButtonElement;
  drawing: HTMLElement;
  'drawn-frames': HTMLElement;
  empty: HTMLElement;
  exercise: HTMLElement;
  'hint-text': HTMLElement;
  id: HTMLElement;
  lesson: HTMLSelectElement;
  'lesson-link': HTMLAnchorElement;
  model: HTMLElement;
  next: HTMLButtonElement;
  note: HTMLElement;
  quiz: HTMLElement;
  score: HTMLElement;
  'show-hint': HTMLButtonElement;
  'show-model': HTMLButtonElement;
  task: HTMLElement;
  verdict: HTMLElement;
  'verdict-text': HTMLElement;
  'wire-link': HTMLAnchorElement;
}

/** Returns an element of the page. */
export type ById = <Id extends keyof Elements>(id: Id) => Elements[Id];
