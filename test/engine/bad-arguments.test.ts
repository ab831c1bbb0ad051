// Bad arguments as data: every argument of the public API gets every wrong value. The call throws
// one of our faults, which names the argument. Nothing is written, and the worker lives on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Context } from '../../src/engine/context.ts';
import type { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { InvalidInput } from '../../src/support/fault.ts';
import { sample } from '../services/tier.ts';
import type { Argument } from './bad-arguments/argument.ts';
import { OF_CODE } from './bad-arguments/of-code.ts';
import { type Given, OF_HOLDFAST } from './bad-arguments/of-holdfast.ts';
import { OF_OPENINGS } from './bad-arguments/of-openings.ts';
import { OF_OPERATORS } from './bad-arguments/of-operators.ts';
import { fine, onHoldfast } from './bad-arguments/on-holdfast.ts';
import { WRONG, WRONG_NAMES, type WrongName } from './bad-arguments/wrong-values.ts';
import { pause } from './stage.ts';

/** Of each table, in `npm test`. */
const PAIRS_SAMPLED = 500;

async function written({ holdfast, handle }: Given): Promise<string> {
  const { templates, schedules, store } = holdfast;
  return JSON.stringify([
    (await holdfast.list({ limit: 10_000 })).items,
    await holdfast.history(handle.id),
    await store.executions.inbox({ id: handle.id, after: 0, limit: 100 }),
    await templates.list(),
    await schedules.list(),
    (await holdfast.audit.list({ limit: 10_000 })).items,
    (await holdfast.refusals()).items,
    [...(await store.sessions.list({ limit: 100 }))].map(({ session }) => session.id),
  ]);
}

/** The problem with the outcome of a call. Undefined if there is none. */
async function problemOf<From>(
  argument: Argument<From>,
  wrong: WrongName,
  given: From,
): Promise<string | undefined> {
  const title = `${argument.of} (${argument.expected.source}) with ${wrong}`;
  try {
    await Promise.race([argument.hand(given, WRONG[wrong]), deadline()]);
    return `${title}: accepted`;
  } catch (error) {
    return problemWith(title, argument, error);
  }
}

/** A call that still waits has accepted the argument. */
function deadline(): Promise<void> {
  return pause(500);
}

function problemWith<From>(
  title: string,
  { expected }: Argument<From>,
  error: unknown,
): string | undefined {
  if (!(error instanceof InvalidInput)) return `${title}: ${String(error)}`;
  return expected.test(error.message) ? undefined : `${title}: does not name it: ${error.message}`;
}

/** Each argument with each value that does not fit it. */
function pairsOf<From>(table: readonly Argument<From>[]) {
  const pairs = table.flatMap((argument, row) =>
    WRONG_NAMES.filter((wrong) => !argument.fits.includes(wrong)).map((wrong) => ({
      argument,
      row,
      wrong,
    })),
  );
  return sample('bad arguments', pairs, PAIRS_SAMPLED);
}

async function problemsOf<From>(
  table: readonly Argument<From>[],
  given: From,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { argument, wrong } of pairsOf(table)) {
    const problem = await problemOf(argument, wrong, given);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

test('every argument of Holdfast, templates, schedules and the audit is checked, and nothing is written', async () => {
  await onHoldfast(async (given) => {
    const before = await written(given);
    assert.deepEqual(await problemsOf([...OF_HOLDFAST, ...OF_OPERATORS], given), []);
    assert.equal(await written(given), before);
    assert.equal(await (await given.holdfast.submit(fine, undefined)).result(), 'fine');
  });
});

test('every argument of open functions and constructors is checked', async () => {
  assert.deepEqual(await problemsOf(OF_OPENINGS, undefined), []);
});

const careless = pipeline<{ readonly row: number; readonly wrong: WrongName }, unknown>({
  name: 'careless',
  queries: ['q'],
  run: (ctx, { row, wrong }) => OF_CODE[row]?.hand(ctx, WRONG[wrong]),
});

test('a bad argument in pipeline code blocks its execution, and the worker lives on', async () => {
  await onHoldfast(
    async ({ holdfast }, reports) => {
      const problems: string[] = [];
      for (const { argument, row, wrong } of pairsOf(OF_CODE)) {
        const { id } = await holdfast.submit(careless, { row, wrong });
        const problem = await problemOfCode(holdfast, { argument, wrong, id });
        if (problem !== undefined) problems.push(problem);
      }
      assert.deepEqual(problems, []);
      assert.deepEqual(
        reports.filter(({ kind }) => kind === 'trouble'),
        [],
      );
      assert.equal(await (await holdfast.submit(fine, undefined)).result(), 'fine');
    },
    [careless],
  );
});

async function problemOfCode(
  holdfast: Holdfast,
  asked: { readonly argument: Argument<Context>; readonly wrong: WrongName; readonly id: string },
): Promise<string | undefined> {
  const { argument, wrong, id } = asked;
  const title = `${argument.of} (${argument.expected.source}) with ${wrong}`;
  const end = await endOf(holdfast, id);
  if (end === undefined) return `${title}: accepted`;
  const { kind, failure } = end;
  const { code, category, message } = failure ?? {};
  const found = `${title}: ${kind}, ${category}, ${code}: ${message}`;
  // The error of a step, and the input of a successor, fail the execution.
  const isInStep = ['assertHeld', 'heartbeat'].includes(argument.of);
  const isFailed = isInStep || argument.of === 'continueAsNew';
  if (kind !== (isFailed ? 'failed' : 'blocked') || category !== 'permanent') return found;
  if (code !== 'invalid-input') return found;
  if (!argument.expected.test(message ?? '')) return `${found} (does not name it)`;
  const kinds = (await holdfast.history(id)).map((event) => event.kind).join(' ');
  const isClean = kinds === `submitted claimed${isInStep ? ' step-failed' : ''} ${kind}`;
  return isClean ? undefined : `${title}: ${kinds}`;
}

interface BadEnd {
  readonly kind: string;
  readonly failure?: { readonly code: string; category: string; message: string };
}

/** The event that failed or blocked the execution. Undefined if none comes within two seconds. */
async function endOf(holdfast: Holdfast, id: string): Promise<BadEnd | undefined> {
  for (const until = Date.now() + 2_000; Date.now() < until; ) {
    const { kind, body } = (await holdfast.history(id)).at(-1) ?? {};
    if (kind === 'failed' || kind === 'blocked') return { kind, ...JSON.parse(body ?? '{}') };
    if (kind === 'completed') return undefined;
    await pause(1);
  }
  return undefined;
}
