// The messages of a running execution. Each enters the history before the code gets it. Ends of
// children and cancellations do so at once; signals and outcomes of awaits when the code asks.

import type { InboxMessage } from '../../execution/history.ts';
import type { CallKey, Payload } from '../../execution/names.ts';
import { replyName, updateSignal } from '../../features/updates/model.ts';
import { messageSchema } from '../pipeline.ts';
import { untilReplied, untilSessionEnds } from '../store-replies.ts';
import { ValueRefused, validated } from '../values/schema.ts';
import { signalPlace } from './calls/receive.ts';
import { ignored, soon } from './guarded.ts';
import type { CallBody, Settlement } from './ledger.ts';
import type { Run } from './run.ts';

/** A pending await of the code. */
interface Awaiting {
  readonly key: CallKey;
  readonly name: string;
  readonly items: number;
}

/** A pending receive of the code. */
interface SignalCall {
  readonly name: string;
  readonly key: CallKey;
  /** True once the code no longer waits for it. Its messages then go to other receives. */
  hasLost(): boolean;
}

const PAGE = 1_000;
const UPDATE_PREFIX = new RegExp(`^${updateSignal('')}`);

export class Inbox {
  /** The numbers of the messages that pause and resume. */
  readonly pauses: number[] = [];
  /** True if the newest of them pauses. */
  isPaused = false;
  readonly #run: Run;
  /** Ends of children, by the key of their call. */
  #ended: Map<CallKey, Settlement> | undefined;
  #endedListeners: Set<(call: CallKey) => void> | undefined;
  /** Signals that the code has not asked for yet, in order. */
  readonly #signals: InboxMessage[] = [];
  readonly #signalCalls: SignalCall[] = [];
  /** Messages that the journal is recording; the code does not have them yet. */
  readonly #recording: Set<number> = new Set();
  /** Outcomes of awaits that the code has not asked for yet, by call. */
  #settled: Map<string, InboxMessage> | undefined;
  #awaiting: Map<string, Awaiting> | undefined;
  #announced = 0;
  #seen = 0;
  #reading: Promise<void> | undefined;
  #isOffering = false;

  constructor(run: Run) {
    this.#run = run;
    // Skip the messages that history already has, up to the first gap.
    while (run.ledger.isTaken(this.#seen + 1)) this.#seen += 1;
  }

  /** The number of the last message that was read; `park` sends it to the store. */
  get seen(): number {
    return this.#seen;
  }

  /** Messages that were read but neither reached the code nor took effect. */
  get unread(): readonly number[] {
    const waiting = this.#signals.map(({ n }) => n);
    return [...waiting, ...this.pauses, ...this.#recording, ...this.#run.undelivered];
  }

  get isReading(): boolean {
    return this.#reading !== undefined || this.#isOffering;
  }

  /** Reads before the code starts, so that the code does not overtake earlier messages. */
  async readAtStart(inboxCount: number): Promise<void> {
    this.notice(inboxCount);
    await this.#reading;
  }

  notice(inboxCount: number): void {
    if (inboxCount <= this.#announced && inboxCount <= this.#seen) return;
    this.#announced = Math.max(this.#announced, inboxCount);
    if (this.#announced > this.#seen && this.#reading === undefined) {
      this.#reading = this.#read().catch((fault: unknown) => {
        this.#reading = undefined;
        this.#run.troubled(fault);
      });
    }
  }

  /** A message may have arrived; the store knows how many there are. */
  check(): void {
    this.notice(this.#seen + 1);
  }

  /** Resolves once every message that had arrived before the call is read and recorded. */
  async refresh(): Promise<void> {
    this.check();
    await this.#reading;
    await this.#run.journal.settled();
  }

  childEnded(settlement: Settlement): void {
    this.#ended ??= new Map();
    this.#ended.set(settlement.body.key, settlement);
    for (const listener of [...(this.#endedListeners ?? [])]) listener(settlement.body.key);
  }

  outcomeOf(call: CallKey): Settlement | undefined {
    return this.#ended?.get(call);
  }

  onEnded(listener: (call: CallKey) => void): () => void {
    this.#endedListeners ??= new Set();
    const listeners = this.#endedListeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** The next signal of that name settles this call. */
  receive(call: SignalCall): void {
    this.#signalCalls.push(call);
    this.offer();
  }

  /**
   * Offers waiting signals to receives, once the code is at rest. During a replay, the code may
   * make receives that it then abandons.
   */
  offer(): void {
    if (this.#isOffering || this.#signals.length === 0) return;
    this.#isOffering = true;
    soon(this.#run, () => {
      this.#isOffering = false;
      if (this.#run.isOver) return;
      this.#give();
      this.#run.goOn();
    });
  }

  #give(): void {
    for (const message of this.#signals.splice(0)) this.#signal(message);
  }

  /** Withdraws the receive. Returns false if it already has a message. */
  withdraw(key: CallKey): boolean {
    this.#give();
    return this.#close(key);
  }

  #close(key: CallKey): boolean {
    const index = this.#signalCalls.findIndex((each) => each.key === key);
    if (index >= 0) this.#signalCalls.splice(index, 1);
    return index >= 0;
  }

  /** The await's outcome settles this call: now (true), or once it arrives. */
  awaitSettled(awaiting: Awaiting): boolean {
    const { key } = awaiting;
    const message = this.#settled?.get(key);
    if (message === undefined) {
      this.#awaiting ??= new Map();
      this.#awaiting.set(key, awaiting);
      return false;
    }
    this.#settled?.delete(key);
    this.#deliverAwait(message, awaiting);
    return true;
  }

  /** True until the outcome of this await arrives. */
  isAwaiting(key: CallKey): boolean {
    return this.#awaiting?.has(key) === true;
  }

  async #read(): Promise<void> {
    const { config, claimed } = this.#run;
    const { id } = claimed.execution;
    const { executions } = config.store;
    while (!this.#run.isOver && this.#announced > this.#seen) {
      const query = { id, after: this.#seen, limit: PAGE };
      const page = await untilReplied(this.#run, () => executions.inbox(query));
      if (page === undefined || this.#run.isOver) break;
      for (const message of page) {
        const refusal = await this.#refusalOf(message);
        if (this.#run.isOver) break;
        if (refusal === undefined) this.#take(message);
        else await this.#refuse(message, refusal);
      }
      if (page.length === 0) this.#announced = this.#seen;
    }
    this.#reading = undefined;
    if (this.isPaused) this.#run.hold();
    this.#run.goOn();
  }

  /** Why the pipeline's schema refuses the message. History does not have it yet. */
  async #refusalOf({ n, kind, name = '', body }: InboxMessage): Promise<string | undefined> {
    const { pipeline, payloads, ledger } = this.#run;
    if (kind !== 'signal' || pipeline.messages === undefined || ledger.isTaken(n)) return undefined;
    const schema = messageSchema(pipeline, name.replace(UPDATE_PREFIX, ''));
    if (schema === undefined) return undefined;
    const { out = {} } = JSON.parse(body ?? '{}') as CallBody;
    try {
      const value = await payloads.decodeEnvelope(out, signalPlace(name));
      await validated(`The value of "${name}"`, schema, value);
      return undefined;
    } catch (error) {
      if (error instanceof ValueRefused) return error.message;
      throw error;
    }
  }

  /**
   * The code never gets the message. The sender of an update gets the refusal; a refused signal is
   * noted in the history. Later claims do the same again.
   */
  async #refuse({ n, name, body }: InboxMessage, refusal: string): Promise<void> {
    const { config, claimed, session, ledger, journal } = this.#run;
    this.#seen = Math.max(this.#seen, n);
    ledger.take(n);
    const { update: token } = JSON.parse(body ?? '{}') as CallBody;
    if (token === undefined) {
      const line = { log: `Signal "${name}" was refused: ${refusal}`, inside: true };
      const event = { kind: 'progressed', body: JSON.stringify(line) as Payload } as const;
      journal.append({ event, isNote: true, stored: ignored });
      return;
    }
    const bytes = Buffer.from(JSON.stringify({ rejected: refusal }));
    const reply = { name: replyName(token), type: 'application/json', bytes };
    const { execution, fence } = claimed;
    const { id, seq } = execution;
    const claim = {
      id,
      fence,
      session: session.id,
      seq: seq + 1,
      events: [],
      attachments: [reply],
    };
    await untilReplied(this.#run, () => config.store.executions.record(claim));
  }

  #take(message: InboxMessage): void {
    this.#seen = Math.max(this.#seen, message.n);
    if (this.#run.ledger.isTaken(message.n)) return;
    switch (message.kind) {
      case 'child-ended':
        this.#record('child-ended', message, { key: message.name as CallKey, n: message.n });
        return;
      case 'cancel':
        // The execution began to undo its steps before this message arrived (Y-3).
        if (this.#run.ledger.cause !== undefined) return;
        this.#record('cancel-requested', message, { key: '' as CallKey, n: message.n });
        return;
      case 'pause':
      case 'resume':
        // The write that gives the execution back because of them puts them into the history.
        this.pauses.push(message.n);
        this.isPaused = message.kind === 'pause';
        return;
      case 'await-settled':
        this.#settledAwait(message);
        return;
      default:
        // Earlier ones of its name are about to be offered. It does not overtake them.
        if (this.#isOffering && this.#signals.some(({ name }) => name === message.name)) {
          this.#signals.push(message);
        } else this.#signal(message);
    }
  }

  #signal(message: InboxMessage): void {
    const call = this.#signalCalls.find((each) => each.name === message.name && !each.hasLost());
    if (call === undefined) {
      this.#signals.push(message);
      return;
    }
    this.#close(call.key);
    this.#deliverSignal(message, call.key);
  }

  #settledAwait(message: InboxMessage): void {
    const key = message.name ?? '';
    const awaiting = this.#awaiting?.get(key);
    if (awaiting === undefined) {
      this.#settled ??= new Map();
      this.#settled.set(key, message);
      return;
    }
    this.#awaiting?.delete(key);
    this.#deliverAwait(message, awaiting);
  }

  #deliverAwait(message: InboxMessage, { key, name, items }: Awaiting): void {
    const own = { key, n: message.n, items, settledAt: message.at };
    this.#record('await-settled', { ...message, name }, own);
  }

  #deliverSignal(message: InboxMessage, key: CallKey): void {
    this.#record('signal-received', message, { key, n: message.n });
  }

  #record(
    kind: 'child-ended' | 'signal-received' | 'await-settled' | 'cancel-requested',
    message: InboxMessage,
    own: CallBody,
  ): void {
    const content = message.body === undefined ? {} : (JSON.parse(message.body) as object);
    const body: CallBody = { ...content, ...own, ...this.#run.under(own.key) };
    const { n } = message;
    this.#run.ledger.take(n);
    this.#recording.add(n);
    this.#run.journal.record({
      event: {
        kind,
        ...(message.name === undefined ? {} : { name: message.name }),
        body: JSON.stringify(body) as Payload,
      },
      stored: (at) => {
        if (this.#run.isOver) return;
        this.#recording.delete(n);
        this.#run.settle({ kind, body, at, seq: 0 });
      },
    });
  }
}

/**
 * Reads all messages of an execution whose code no longer gets any. Returns the reason if one
 * cancels it.
 */
export async function lastWordsTo(
  run: Pick<Run, 'config' | 'claimed' | 'session'>,
): Promise<{ readonly seen: number; readonly cancel?: string }> {
  const { executions } = run.config.store;
  const { id } = run.claimed.execution;
  let cancel: string | undefined;
  for (let seen = 0; ; ) {
    const query = { id, after: seen, limit: PAGE };
    const page = await untilSessionEnds(run, () => executions.inbox(query));
    const found = page.find(({ kind }) => kind === 'cancel');
    if (found !== undefined) cancel ??= reasonOf(found);
    seen = page.at(-1)?.n ?? seen;
    if (page.length < PAGE) return { seen, ...(cancel === undefined ? {} : { cancel }) };
  }
}

function reasonOf({ body = '{}' as Payload }: InboxMessage): string {
  return (JSON.parse(body) as { readonly reason?: string }).reason ?? '';
}
