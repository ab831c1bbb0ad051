// The workers of the demo: two processes, and what is played with them. This process is their bank.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PostgresSettings } from '../../embedded/open-store.ts';
import { Holdfast } from '../../engine/holdfast.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { DemoMessage, Scene } from '../../protocol/messages/coordinator.ts';
import type { ServerLog } from '../../server/server-options.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { formatInstant, systemClock, toInstant } from '../../support/clock.ts';
import { playAsk, playFailedPayment, playFreeze, tellAnswer } from './scenes.ts';

export type FromCook =
  | { readonly kind: 'ready'; readonly session: string }
  | { readonly kind: 'reports'; readonly line: string }
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
  /** Lets this one go should nobody be left who does. */
  | { readonly kind: 'watch'; readonly pid: number };

/** As `openStore` takes it. */
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
  readonly #log: ServerLog;
  readonly #cooks: Cook[] = [];
  readonly #story: DemoMessage['story'][number][] = [];
  /** Guests whose payment fails, and whom the bank will not pay back at first. */
  readonly #unpaid: Set<string> = new Set();
  readonly #unrefunded: Set<string> = new Set();
  readonly #answers: Promise<void>[] = [];
  #playing: Promise<void> | undefined;
  #isStopped = false;
  #toFreeze: string | undefined;

  constructor(store: CoordinatorStore, log: ServerLog) {
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

  tell(text: string, execution?: string): void {
    const at = formatInstant(toInstant(systemClock.wallMs()));
    this.#story.push({ at, text, ...(execution === undefined ? {} : { execution }) });
    if (this.#story.length > STORY_MAX) this.#story.shift();
    this.#log.info('demo', { ...(execution === undefined ? {} : { execution }), told: text });
  }

  /** The worker that cooks this one is frozen as soon as it says that it does. */
  freezeWhoCooks(execution: string): void {
    this.#toFreeze = execution;
  }

  /** Really stopped, until it is thawed or nobody is left who would. */
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

  /** Of one guest, once each. */
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
      .catch((error: unknown) => this.#log.fault('demo', error))
      .finally(() => {
        this.#playing = undefined;
      });
  }

  /** Whoever answers, and whenever: it is told. */
  awaitAnswer(id: ExecutionRecord['id']): void {
    const told = tellAnswer(this, id).catch((error: unknown) => this.#log.fault('demo', error));
    this.#answers.push(told);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(
      this.#cooks.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        // A frozen one hears nothing before it is let go.
        child.kill('SIGCONT');
        child.kill('SIGTERM');
        await gone;
      }),
    );
    await Promise.all([this.#playing, ...this.#answers]);
    await this.holdfast.close();
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
      else if (message.kind === 'reports') this.#log.info(message.line);
      else if (message.kind === 'cooks') {
        const cook = this.#cooks.find((each) => each.child === child);
        if (cook !== undefined && message.execution === this.#toFreeze) this.#freeze(cook);
      } else if (message.kind === 'did') {
        this.#log.info('demo', { execution: message.execution, by: name, did: message.what });
      } else {
        const set = message.what === 'settle' ? this.#unpaid : this.#unrefunded;
        const answer = !set.delete(message.guest);
        child.send({ kind: 'answer', n: message.n, answer } satisfies ToCook);
      }
    });
    return { name, child, session: await ready.promise, isFrozen: false };
  }
}
