// Server-sent events: text that goes on until one side ends it, with a comment now and then so that
// nobody in between takes it for dead.

import type { Timers } from '../../support/timer.ts';

export const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': still here\n\n';

export interface StreamEvent {
  readonly event: string;
  readonly id?: string;
  readonly data?: unknown;
}

export function eventText({ event, id, data }: StreamEvent): string {
  const named = id === undefined ? '' : `id: ${id}\n`;
  // JSON has no line breaks of its own.
  return `${named}event: ${event}\ndata: ${JSON.stringify(data ?? {})}\n\n`;
}

interface Bell {
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** How long it waits without being rung for. */
  readonly pollMs: number;
  listen(ring: () => void): () => void;
}

/** Between two looks: rung for, polled, or over. What rings while nobody waits is not lost. */
export class Waiter {
  readonly #bell: Bell;
  readonly #unlisten: () => void;
  #isRung = false;
  #wake: (() => void) | undefined;

  constructor(bell: Bell) {
    this.#bell = bell;
    const ring = (): void => {
      this.#isRung = true;
      this.#wake?.();
    };
    const unlisten = bell.listen(ring);
    bell.signal.addEventListener('abort', ring, { once: true });
    this.#unlisten = () => {
      unlisten();
      bell.signal.removeEventListener('abort', ring);
    };
  }

  async wait(): Promise<void> {
    if (!this.#isRung && !this.#bell.signal.aborted) {
      await new Promise<void>((resolve) => {
        const cancel = this.#bell.timers.after(this.#bell.pollMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#isRung = false;
  }

  close(): void {
    this.#unlisten();
  }
}

/** The text of events as they come, with comments between them. */
export class Pulse {
  readonly #nowMs: () => number;
  #saidAt: number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#saidAt = nowMs();
  }

  said(text: string): string {
    this.#saidAt = this.#nowMs();
    return text;
  }

  /** A comment when it is time for one. */
  beat(): readonly string[] {
    return this.#nowMs() - this.#saidAt < KEEP_ALIVE_MS ? [] : [this.said(KEEP_ALIVE)];
  }
}
