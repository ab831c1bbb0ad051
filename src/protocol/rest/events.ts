// Live streams: the history of one execution, and hints for lists.

import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import { SEQ_MAX } from '../../execution/history.ts';
import type { ProjectName } from '../../execution/names.ts';
import { historyPage } from '../../store/contract/body-pages.ts';
import type { Timers } from '../../support/timer.ts';
import { weightOfBytes } from '../../support/turns.ts';
import { eventOperations } from '../messages/execution-operations.ts';
import { historyMessage, readable } from './executions.ts';
import { executionFor } from './handling.ts';
import { type Coordinator, ProblemReply, projectShare, type Route, routesOf } from './route.ts';

/** Wakeups trigger most reads; the poll covers lost wakeups. */
const POLL_MS = 10_000;
const PAGE = 200;
/** A look at the record and a page of history cost as much as many small requests. */
const PAGE_WEIGHT = 16;
/** Sends wakeups that arrive close together as one event. */
const COALESCE_MS = 250;

export const eventRoutes: readonly Route[] = routesOf(eventOperations, {
  async streamExecution(coordinator, { params, query, caller, header, signal }) {
    const record = await executionFor(coordinator, caller, params.id);
    // The header wins: a reconnecting browser sends it with the original address.
    const after = seqOf(header('last-event-id')) ?? query.after ?? 0;
    const options = { after, signal, progress: query.progress === true };
    return { status: 200, stream: historyOf(coordinator, record, options) };
  },

  async openStream(_, { header, caller }) {
    if (header('upgrade')?.toLowerCase() !== 'websocket') {
      throw new ProblemReply(
        'upgrade-required',
        'GET /v1/stream opens a WebSocket, and this request does not upgrade to it. Nothing was done. Use a WebSocket client. If a proxy is in between, let it pass the headers Upgrade and Connection.',
      );
    }
    // A page of another site can open a WebSocket, and browsers add cookies to it.
    if (caller.key !== undefined && header('authorization') === undefined) {
      throw new ProblemReply(
        'key-required',
        'A stream needs its key in the header Authorization, not in a cookie. Nothing was done.',
      );
    }
    return { status: 101, isUpgrade: true };
  },

  async streamHints(coordinator, { query, caller, header, signal }) {
    const last = header('last-event-id') ?? query.after;
    const { project } = caller;
    return { status: 200, stream: hintsOf(coordinator, { last, project, signal }) };
  },
});

function seqOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text) && Number(text) <= SEQ_MAX) return Number(text);
  throw new ProblemReply(
    'invalid-input',
    'Last-Event-ID must be the id of the last event that you received: a whole number. Nothing was sent.',
  );
}

interface HistoryStream {
  readonly after: number;
  readonly signal: AbortSignal;
  readonly progress: boolean;
}

async function* historyOf(
  { store, holdfast, wakeups, shares, clock, timers }: Coordinator,
  { id, project }: ExecutionRecord,
  { after, signal, progress }: HistoryStream,
): AsyncGenerator<string> {
  const reader = { holdfast, shares, project };
  const share = projectShare(project);
  const listen = (wake: () => void): (() => void) => wakeups.listen(project, wake);
  const waiter = new Waiter({ timers, signal, pollMs: POLL_MS, listen });
  const pulse = new Pulse(() => clock.monotonicMs(), KEEP_ALIVE);
  // Send something first, so that the client knows that the stream is open.
  yield pulse.noteSent(': here\n\n');
  let shown: string | undefined;
  try {
    for (let seq = after; !signal.aborted; ) {
      // Read the record before the history, so that the history includes the event that ended it.
      await shares.begin(share, PAGE_WEIGHT);
      const record = await store.executions.read(id);
      const page = { id, after: seq, limit: PAGE };
      const { items, isCut } = await historyPage(store.executions, page);
      for (const event of items) {
        const data = await historyMessage(reader, event);
        const text = eventText({ event: event.kind, id: String(event.seq), data });
        shares.charge(share, weightOfBytes(text.length));
        yield pulse.noteSent(text);
        seq = event.seq;
      }
      if (isCut || items.length === PAGE) continue;
      if (progress && record?.progress !== undefined && record.progress !== shown) {
        shown = record.progress;
        const data = await readable(reader, { progress: record.progress });
        yield pulse.noteSent(eventText({ event: 'progress', data }));
      }
      if (record === undefined || isTerminal(record.status)) {
        yield eventText({ event: 'end', data: { status: record?.status ?? 'unknown' } });
        return;
      }
      yield* pulse.beat();
      await waiter.wait();
    }
  } finally {
    waiter.close();
  }
}

interface Hinted {
  readonly last: string | undefined;
  readonly project: ProjectName;
  readonly signal: AbortSignal;
}

async function* hintsOf(
  { hints, wakeups, clock, timers }: Coordinator,
  { last, project, signal }: Hinted,
): AsyncGenerator<string> {
  const listen = (wake: () => void): (() => void) => wakeups.listen(project, wake);
  const waiter = new Waiter({ timers, signal, pollMs: PING_MS, listen });
  const pulse = new Pulse(() => clock.monotonicMs(), { text: PING, everyMs: PING_MS });
  let sent = last === undefined ? hints.id : last;
  yield pulse.noteSent(PING);
  try {
    while (!signal.aborted) {
      const isBehind = hints.isBehind(sent);
      if (isBehind !== false) {
        sent = hints.id;
        const event = isBehind === undefined ? 'reset' : 'changed';
        yield pulse.noteSent(eventText({ event, id: sent }));
      }
      yield* pulse.beat();
      await waiter.wait();
      await timers.pause(COALESCE_MS, signal);
    }
  } finally {
    waiter.close();
  }
}

// Server-sent events: text that continues until one side ends it. Comments in between keep proxies
// from closing the connection.

export const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = { text: ': still here\n\n', everyMs: KEEP_ALIVE_MS };

/**
 * A frozen coordinator keeps its connections open. Only the absence of pings shows a client that it
 * is gone. Scripts of a browser do not see comments.
 */
export const PING_MS = 3_000;
const PING = eventText({ event: 'ping', data: { everyMs: PING_MS } });

interface StreamEvent {
  readonly event: string;
  readonly id?: string;
  readonly data?: unknown;
}

function eventText({ event, id, data }: StreamEvent): string {
  const named = id === undefined ? '' : `id: ${id}\n`;
  // JSON has no line breaks of its own.
  return `${named}event: ${event}\ndata: ${JSON.stringify(data ?? {})}\n\n`;
}

interface WaiterOptions {
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** The longest wait without a wakeup. */
  readonly pollMs: number;
  listen(wake: () => void): () => void;
}

/**
 * Waits between two looks for a wakeup, the poll, or the end. Keeps a wakeup that arrives while
 * nothing waits.
 */
class Waiter {
  readonly #options: WaiterOptions;
  readonly #unlisten: () => void;
  #isNotified = false;
  #wake: (() => void) | undefined;

  constructor(options: WaiterOptions) {
    this.#options = options;
    const wake = (): void => {
      this.#isNotified = true;
      this.#wake?.();
    };
    const unlisten = options.listen(wake);
    options.signal.addEventListener('abort', wake, { once: true });
    this.#unlisten = () => {
      unlisten();
      options.signal.removeEventListener('abort', wake);
    };
  }

  async wait(): Promise<void> {
    if (!this.#isNotified && !this.#options.signal.aborted) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.timers.after(this.#options.pollMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#isNotified = false;
  }

  close(): void {
    this.#unlisten();
  }
}

interface Beat {
  readonly text: string;
  /** Sent if nothing else was sent for this long. */
  readonly everyMs: number;
}

/** The text of events, with beats between them. */
class Pulse {
  readonly #nowMs: () => number;
  readonly #beat: Beat;
  #sentAt: number;

  constructor(nowMs: () => number, beat: Beat) {
    this.#nowMs = nowMs;
    this.#beat = beat;
    this.#sentAt = nowMs();
  }

  noteSent(text: string): string {
    this.#sentAt = this.#nowMs();
    return text;
  }

  /** Returns the text if it is due. */
  beat(): readonly string[] {
    const { text, everyMs } = this.#beat;
    return this.#nowMs() - this.#sentAt < everyMs ? [] : [this.noteSent(text)];
  }
}
