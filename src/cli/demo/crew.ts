// The demo's two worker processes, and the scenes played with them. This process plays the bank.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PostgresSettings } from '../../embedded/open-store.ts';
import { Holdfast } from '../../engine/holdfast.ts';
import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import type { LineLevel } from '../../execution/report.ts';
import { formatFence } from '../../lease/fence.ts';
import type { DemoEvent, DemoMessage, Scene } from '../../protocol/messages/coordinator.ts';
import { faultLogOf } from '../../server/server-options.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { formatInstant, systemClock, toInstant } from '../../support/clock.ts';
import { systemTimers } from '../../support/timer.ts';
import type { CliLog } from '../log.ts';
import { PIPELINE } from './restaurant.ts';

export type FromCook =
  | { readonly kind: 'ready'; readonly session: string }
  | { readonly kind: 'reports'; readonly level: LineLevel; readonly line: string }
  | { readonly kind: 'cooks'; readonly execution: string }
  | { readonly kind: 'did'; readonly execution: string; readonly what: string }
  | {
      readonly kind: 'asks';
      readonly n: number;
      readonly what: 'settle' | 'refund';
      readonly guest: string;
    };

export type ToCook =
  | { readonly kind: 'answer'; readonly n: number; readonly answer: boolean }
  /** Resume this frozen process if the coordinator is gone. */
  | { readonly kind: 'watch'; readonly pid: number };

/** The arguments of `openStore`. */
export interface Kitchen {
  readonly store: string;
  readonly postgres: PostgresSettings;
}

export interface Cook {
  readonly name: string;
  readonly child: ChildProcess;
  readonly session: string;
  isFrozen: boolean;
}

const NAMES = ['cook-1', 'cook-2'];
const STORY_MAX = 50;

const PLAYS: Readonly<Record<Scene, (crew: Crew) => Promise<void>>> = {
  ask: playAsk,
  freeze: playFreeze,
  'fail-payment': playFailedPayment,
};

export class Crew {
  readonly holdfast: Holdfast;
  readonly #log: CliLog;
  readonly #cooks: Cook[] = [];
  readonly #story: DemoMessage['story'][number][] = [];
  /** Guests whose next payment fails, and whose first refund fails. */
  readonly #unpaid: Set<string> = new Set();
  readonly #unrefunded: Set<string> = new Set();
  /** Guests whose refund the bank has refused. */
  readonly #owed: Set<string> = new Set();
  readonly #answers: Promise<void>[] = [];
  #playing: Promise<void> | undefined;
  #isStopped = false;
  #toFreeze: string | undefined;

  constructor(store: CoordinatorStore, log: CliLog) {
    this.holdfast = new Holdfast({ store });
    this.#log = log;
  }

  get cooks(): readonly Cook[] {
    return this.#cooks;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  async start(kitchen: Kitchen): Promise<void> {
    this.#cooks.push(...(await Promise.all(NAMES.map((name) => this.#startCook(kitchen, name)))));
  }

  narrate(event: DemoEvent, text: string, execution?: string): void {
    const at = formatInstant(toInstant(systemClock.wallMs()));
    this.#story.push({ at, event, text, ...(execution === undefined ? {} : { execution }) });
    if (this.#story.length > STORY_MAX) this.#story.shift();
    this.#log.info('demo', { ...(execution === undefined ? {} : { execution }), message: text });
  }

  /** Freezes the worker that reports cooking this execution. */
  freezeWhoCooks(execution: string): void {
    this.#toFreeze = execution;
  }

  /** Stops the process (SIGSTOP) until `thaw`. The other worker resumes it if this process dies. */
  #freeze(cook: Cook): void {
    this.#toFreeze = undefined;
    const { pid } = cook.child;
    if (pid === undefined) return;
    for (const { child } of this.#cooks) {
      if (child !== cook.child) child.send({ kind: 'watch', pid } satisfies ToCook);
    }
    cook.isFrozen = cook.child.kill('SIGSTOP');
  }

  thaw(cook: Cook): void {
    cook.child.kill('SIGCONT');
    cook.isFrozen = false;
  }

  /** The guest's next payment and first refund fail, once each. */
  failPayment(guest: string): void {
    this.#unpaid.add(guest);
    this.#unrefunded.add(guest);
  }

  read(): DemoMessage {
    return {
      workers: this.#cooks.map(({ name, child, isFrozen }) => ({
        ...{ name, pid: child.pid ?? 0, isFrozen },
      })),
      isPlaying: this.#playing !== undefined,
      story: [...this.#story],
    };
  }

  play(scene: Scene): void {
    if (this.#playing !== undefined) return;
    this.#playing = PLAYS[scene](this)
      .catch((error: unknown) => faultLogOf(this.#log)('demo-failed', error))
      .finally(() => {
        this.#playing = undefined;
      });
  }

  /**
   * Adds lines to the story when an order that was submitted now asks its question, and when a
   * person answers.
   */
  awaitQuestion(id: ExecutionRecord['id']): void {
    this.#inBackground(narrateQuestion(this, id));
  }

  /** Adds a line to the story when the request is answered. */
  awaitAnswer(id: ExecutionRecord['id']): void {
    this.#inBackground(narrateAnswer(this, id));
  }

  #inBackground(narrated: Promise<void>): void {
    const finished = narrated.catch((error: unknown) =>
      faultLogOf(this.#log)('demo-failed', error),
    );
    this.#answers.push(finished);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(
      this.#cooks.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        // A frozen process handles SIGTERM only after SIGCONT.
        child.kill('SIGCONT');
        child.kill('SIGTERM');
        await gone;
      }),
    );
    await Promise.all([this.#playing, ...this.#answers]);
    await this.holdfast.close();
  }

  /** The refund that the bank refused succeeds after a retry by a person. */
  #refunded(guest: string, isDone: boolean): void {
    if (!isDone) this.#owed.add(guest);
    else if (this.#owed.delete(guest)) {
      this.narrate('refunded', `Done: ${guest} was refunded, and every step is undone.`);
    }
  }

  async #startCook(kitchen: Kitchen, name: string): Promise<Cook> {
    const path = fileURLToPath(new URL(`./cook${extname(import.meta.url)}`, import.meta.url));
    const child = fork(path, [JSON.stringify(kitchen), name], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const ready = Promise.withResolvers<string>();
    child.once('exit', (code) => ready.reject(new Error(`${name} ended with ${code}.`)));
    child.on('message', (message: FromCook) => {
      if (message.kind === 'ready') ready.resolve(message.session);
      else if (message.kind === 'reports') this.#log[message.level](message.line);
      else if (message.kind === 'cooks') {
        const cook = this.#cooks.find((each) => each.child === child);
        if (cook !== undefined && message.execution === this.#toFreeze) this.#freeze(cook);
      } else if (message.kind === 'did') {
        this.#log.info('demo', { execution: message.execution, worker: name, did: message.what });
      } else {
        const set = message.what === 'settle' ? this.#unpaid : this.#unrefunded;
        const answer = !set.delete(message.guest);
        child.send({ kind: 'answer', n: message.n, answer } satisfies ToCook);
        if (message.what === 'refund') this.#refunded(message.guest, answer);
      }
    });
    return { name, child, session: await ready.promise, isFrozen: false };
  }
}

// The demo's scenes: an order that needs approval, a worker that is frozen mid-step, and a payment that fails.

const POLL_MS = 100;
/** A scene gives up after this many polls. */
const POLLS_MAX = 400;
/** A resumed worker writes at once or not at all, so this wait is short. */
const LATE_WRITE_POLLS_MAX = 50;

/** Polls until `read` finds something; undefined if it never does. */
async function until<Found>(
  crew: Crew,
  read: () => Promise<Found | undefined>,
  pollsMax: number = POLLS_MAX,
): Promise<Found | undefined> {
  for (let polls = 0; polls < pollsMax && !crew.isStopped; polls += 1) {
    const found = await read();
    if (found !== undefined) return found;
    await systemTimers.pause(POLL_MS);
  }
  return undefined;
}

/** An order that waits for an approval in the inbox. */
export async function playAsk(crew: Crew): Promise<void> {
  const { id } = await crew.holdfast.submit(PIPELINE, { dish: 'soup', guest: 'ann', ask: true });
  await narrateQuestion(crew, id);
}

async function narrateQuestion(crew: Crew, id: ExecutionRecord['id']): Promise<void> {
  const question = await until(crew, async () => {
    const { items } = await crew.holdfast.awaits.list({ execution: id });
    return items[0];
  });
  if (question === undefined) return;
  crew.narrate('asked', 'Soup ordered and charged. Waiting for approval.', id);
  crew.awaitAnswer(id);
}

const ANSWER_POLL_MS = 300;

/** Waits without a limit. Adds nothing to the story if the answer came before the first poll. */
export async function narrateAnswer(crew: Crew, id: ExecutionRecord['id']): Promise<void> {
  const isSettled = async (): Promise<boolean> =>
    (await crew.holdfast.history(id, { limit: 1_000 })).some(
      ({ kind }) => kind === 'await-settled',
    );
  if (await isSettled()) return;
  while (!crew.isStopped) {
    await systemTimers.pause(ANSWER_POLL_MS);
    if (!(await isSettled())) continue;
    crew.narrate('answered', 'Answered. The order resumed where it was waiting.', id);
    return;
  }
}

/** Plays again if the resumed worker learned that it was replaced before it wrote: then no write was refused. */
export async function playFreeze(crew: Crew): Promise<void> {
  for (let times = 0; times < ORDERS_MAX && !crew.isStopped; times += 1) {
    if (await freezeOnce(crew)) return;
  }
}

/** True if the store refused a late write. */
async function freezeOnce(crew: Crew): Promise<boolean> {
  const cooking = await frozenWhileCooking(crew);
  if (cooking === undefined) return false;
  const { id, cook, fence } = cooking;
  const { name, child } = cook;
  let newest = fence;
  try {
    crew.narrate(
      'frozen',
      `${name} frozen mid-step (SIGSTOP ${child.pid}), holding fence ${shown(fence)}. It does not know.`,
      id,
    );
    const taken = await until(crew, async () => {
      const now = await crew.holdfast.read(id);
      return now?.fence !== undefined && now.fence !== fence && now.session !== cook.session
        ? { fence: now.fence, by: crew.cooks.find(({ session }) => session === now.session) }
        : undefined;
    });
    if (taken === undefined) return false;
    newest = taken.fence;
    crew.narrate(
      'taken-over',
      `Heartbeats stopped, lease expired: ${taken.by?.name ?? 'another worker'} took over with fence ${shown(newest)}.`,
      id,
    );
    await until(crew, async () => ((await stepsOf(crew, id)).includes('cook') ? true : undefined));
  } finally {
    crew.thaw(cook);
  }
  crew.narrate(
    'thawed',
    `${name} resumed (SIGCONT). It thinks it still owns the order and writes its result…`,
    id,
  );
  const refused = await until(
    crew,
    async () => {
      const { items } = await crew.holdfast.refusals({ execution: id });
      return items.find((each) => each.fence === fence);
    },
    LATE_WRITE_POLLS_MAX,
  );
  crew.narrate(
    refused === undefined ? 'not-refused' : 'refused',
    refused === undefined
      ? `${name} learned that it was replaced before it wrote, so nothing was refused. Ordering another stew.`
      : `Refused: fence ${shown(fence)} is older than ${shown(newest)}. The step is recorded exactly once.`,
    id,
  );
  return refused !== undefined;
}

export async function playFailedPayment(crew: Crew): Promise<void> {
  const guest = 'carol';
  crew.failPayment(guest);
  const { id } = await crew.holdfast.submit(PIPELINE, { dish: 'cake', guest });
  crew.narrate('cake-ordered', 'Cake ordered. Its payment will fail after cooking.', id);
  const undoing = await until(crew, async () => {
    const now = await crew.holdfast.read(id);
    return now?.compensating === true ? true : undefined;
  });
  if (undoing === undefined) return;
  crew.narrate(
    'compensating',
    'Payment failed. Compensating completed steps in reverse order.',
    id,
  );
  const ended = await until(crew, async () => {
    const now = await crew.holdfast.read(id);
    return now !== undefined && isTerminal(now.status) ? now.status : undefined;
  });
  if (ended !== 'quarantined') return;
  crew.narrate(
    'quarantined',
    'The refund failed too, so the execution is quarantined with a dead letter. Re-drive it: the bank is open again.',
    id,
  );
}

const ORDERS_MAX = 3;

/**
 * An order, and the worker that was frozen in the middle of its step. On a busy machine the signal may come after the
 * step: then that worker has no late write, and another order is placed.
 */
async function frozenWhileCooking(crew: Crew) {
  for (let orders = 0; orders < ORDERS_MAX; orders += 1) {
    const { id } = await crew.holdfast.submit(PIPELINE, { dish: 'stew', guest: 'fred' });
    crew.freezeWhoCooks(id);
    crew.narrate('stew-ordered', 'Stew ordered. The worker that cooks it will be frozen.', id);
    const cook = await until(crew, async () => crew.cooks.find(({ isFrozen }) => isFrozen));
    if (cook === undefined) return undefined;
    const now = await crew.holdfast.read(id);
    const isTooLate = (await stepsOf(crew, id)).includes('cook');
    if (!isTooLate && now?.fence !== undefined) return { id, fence: now.fence, cook };
    crew.thaw(cook);
  }
  return undefined;
}

async function stepsOf(crew: Crew, id: ExecutionRecord['id']): Promise<readonly string[]> {
  const history = await crew.holdfast.history(id, { limit: 1_000 });
  return history.flatMap(({ kind, name }) =>
    kind === 'step-completed' && name !== undefined ? [name] : [],
  );
}

function shown(fence: number): string {
  return formatFence(fence as Parameters<typeof formatFence>[0]);
}
