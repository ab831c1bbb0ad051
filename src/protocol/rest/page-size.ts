// A page is counted in items, and an item may be anything up to what a request may be: a page of all of them would be
// more than there is memory for, and more than can be written as one text.

import { ProblemReply } from './route.ts';

const CHARS_MAX = 256 * 1024 * 1024;

export class PageSize {
  #left = CHARS_MAX;

  /** Throws when it is too much. One item by itself is never. */
  take(chars: number): void {
    const isFirst = this.#left === CHARS_MAX;
    this.#left -= chars;
    if (this.#left >= 0 || isFirst) return;
    throw new ProblemReply(
      413,
      'page-too-large',
      `These are more than ${CHARS_MAX} characters together. Ask for fewer at a time: a smaller limit.`,
    );
  }
}
