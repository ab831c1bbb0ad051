// Cases that begin with the history of another worker.

import type { ConformanceCase } from './conformance-case.ts';
import { edited, type ObservedMessage } from './fault-proxy.ts';
import { requireSame, requireThat } from './stage.ts';
import { callsIn, changesOf, stepsOutput } from './work-cases.ts';

function completedStep(name: string, value: unknown): Begun {
  const body = { key: `step:${name}#1`, out: { v: value }, attempt: 1 };
  return { kind: 'step-completed', name, body };
}

interface Begun {
  readonly kind: string;
  readonly name: string;
  readonly body: object;
}

function failedStep(attempt: number): Begun {
  const failure = { category: 'retryable', code: 'fault', message: 'Another worker failed.' };
  const body = { key: 'step:flaky#1', failure, attempt, retryInMs: 50 };
  return { kind: 'step-failed', name: 'flaky', body };
}

/** The first event of a page, and `more`. */
function firstOnly(json: unknown): unknown {
  const { items, more } = json as { readonly items: readonly unknown[]; readonly more?: boolean };
  return items.length <= 1 ? json : { items: items.slice(0, 1), more: more ?? true };
}

export const replayCases: readonly ConformanceCase[] = [
  {
    name: 'replay',
    upholds: 'M-12',
    section: 'replay',
    expects:
      'A step that another worker recorded returns its recorded result, and is neither run nor recorded again.',
    hosts: ['conform-steps'],
    async run(stage) {
      const id = await stage.submitBegun('conform-steps', { n: 1 }, [completedStep('one', 100)]);
      await stage.completes(id, stepsOutput(id, 100));
      requireSame('The history of calls', callsIn(await stage.history(id)), [
        'step-completed step:one#1',
        'step-completed step:two#1',
        'completed',
      ]);
    },
  },
  {
    name: 'replay-attempts',
    upholds: 'M-12',
    section: 'steps-and-attempts',
    expects: 'The worker counts the attempts of the history, so a takeover does not reset them.',
    hosts: ['conform-retry'],
    async run(stage) {
      const begun = [failedStep(1), failedStep(2)];
      const id = await stage.submitBegun('conform-retry', { failures: 2 }, begun);
      await stage.completes(id, 3);
      const last = (await stage.history(id)).find(({ kind }) => kind === 'step-completed');
      requireSame('The attempt of step-completed', last?.body['attempt'], 3);
    },
  },
  {
    name: 'replay-parallel',
    upholds: 'M-12',
    section: 'replay',
    expects: 'Of steps that ran at the same time, the recorded one is not run again.',
    hosts: ['conform-parallel'],
    async run(stage) {
      const id = await stage.submitBegun('conform-parallel', null, [completedStep('b', 20)]);
      await stage.completes(id, [1, 20, 3]);
    },
  },
  {
    name: 'replay-timer',
    upholds: 'M-12',
    section: 'replay',
    expects: 'A sleep that another worker began ends at its first time, and is not set again.',
    hosts: ['conform-sleep'],
    async run(stage) {
      const body = { key: 'sleep:nap#1', ms: 500 };
      const begun = [{ kind: 'timer-set', name: 'nap', body }];
      const id = await stage.submitBegun('conform-sleep', { ms: 600_000 }, begun);
      await stage.completes(id, 'slept');
      const calls = ['timer-set sleep:nap#1', 'timer-fired sleep:nap#1', 'completed'];
      requireSame('The history of calls', callsIn(await stage.history(id)), calls);
    },
  },
  {
    name: 'replay-attributes',
    upholds: 'X-132',
    section: 'attributes',
    expects:
      'A change of attributes that another worker recorded applies in the replay, and is not recorded again.',
    hosts: ['conform-attributes'],
    async run(stage) {
      const set = { stage: 'packing', hold: true, box: 7 };
      const change = { key: 'attributes:set#1', set, before: {} };
      const body = { log: 'attributes', inside: true, attributes: change };
      const begun = [{ kind: 'progressed', name: 'attributes', body }, completedStep('pack', null)];
      const id = await stage.submitBegun('conform-attributes', null, begun);
      await stage.completes(id, { stage: 'packed', box: 7 });
      requireSame('The changes in the history', await changesOf(stage, id), [
        change,
        { key: 'attributes:set#2', set: { stage: 'packed', hold: null } },
      ]);
    },
  },
  {
    name: 'drift',
    upholds: 'X-46',
    section: 'replay',
    expects:
      'If the history has another call than the code makes, the worker gives the execution back as blocked.',
    hosts: ['conform-steps'],
    async run(stage) {
      const id = await stage.submitBegun('conform-steps', { n: 1 }, [completedStep('zero', 1)]);
      const blocked = await stage.event(id, 'blocked').catch(async (cause: unknown) => {
        requireSame('The history of calls', callsIn(await stage.history(id)), [
          'step-completed step:zero#1',
          'blocked',
        ]);
        throw cause;
      });
      requireThat(typeof blocked.body['why'] === 'string', 'The blocked event has no why.');
    },
  },
  {
    name: 'pages',
    upholds: 'M-24',
    section: 'readstoredhistory',
    expects: 'The worker asks for further pages of a history while a page has more: true.',
    hosts: ['conform-steps'],
    async run(stage) {
      const remove = stage.proxy.plan(
        ({ kind }) => kind === 'readStoredHistory',
        edited(firstOnly),
        Number.POSITIVE_INFINITY,
      );
      try {
        const id = await stage.submitBegun('conform-steps', { n: 1 }, [completedStep('one', 100)]);
        await stage.completes(id, stepsOutput(id, 100));
      } finally {
        remove();
      }
    },
  },
  {
    name: 'unknown-fields',
    upholds: 'M-5',
    section: 'rules-for-every-message',
    expects: 'The worker ignores fields of replies that it does not know.',
    hosts: ['conform-steps'],
    async run(stage) {
      const add = (json: unknown): unknown => ({ ...(json as object), future: { field: [1] } });
      const remove = stage.proxy.plan(() => true, edited(add), Number.POSITIVE_INFINITY);
      try {
        const id = await stage.submit('conform-steps', { n: 1 });
        await stage.completes(id, stepsOutput(id, 2));
      } finally {
        remove();
      }
    },
  },
  {
    name: 'poison',
    upholds: 'X-57',
    section: 'claimexecutions',
    expects:
      'An execution with claimsWithoutProgress of 5 or more is finished as quarantined with code poison.',
    hosts: ['conform-steps'],
    async run(stage) {
      const id = await claimedWith(stage, { claimsWithoutProgress: 5 });
      const { status, failure } = await stage.ended(id);
      requireSame('Status and code', [status, failure?.code], ['quarantined', 'poison']);
    },
  },
  {
    name: 'deadline',
    upholds: 'X-20',
    section: 'claimexecutions',
    expects:
      'After deadlineAt the worker runs no code, and finishes as failed with code deadline-passed.',
    hosts: ['conform-steps'],
    async run(stage) {
      const id = await claimedWith(stage, { deadlineAt: 1_000 });
      const { status, failure } = await stage.ended(id);
      requireSame('Status and code', [status, failure?.code], ['failed', 'deadline-passed']);
      requireSame('The history of calls', callsIn(await stage.history(id)), ['failed']);
    },
  },
];

/** Submits an execution, and changes fields of it in the claim that the worker gets. */
async function claimedWith(stage: Parameters<ConformanceCase['run']>[0], fields: object) {
  const change = (json: unknown): unknown => {
    const reply = json as { readonly claims?: readonly { readonly execution: object }[] };
    const claims = reply.claims?.map((each) => ({
      ...each,
      execution: { ...each.execution, ...fields },
    }));
    return { ...reply, claims };
  };
  const isClaim = ({ kind }: ObservedMessage): boolean => kind === 'claimExecutions';
  const remove = stage.proxy.plan(isClaim, edited(change), Number.POSITIVE_INFINITY);
  try {
    const id = await stage.submit('conform-steps', { n: 1 });
    await stage.claimed(id);
    return id;
  } finally {
    remove();
  }
}
