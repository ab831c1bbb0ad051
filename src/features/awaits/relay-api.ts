// Answers whose check is code that only workers have: a worker checks them, as a short execution of the
// engine's own. What came out is read from its history as it is stored, so that whoever relays needs
// neither the code nor the codec.

import type { EngineConfig } from '../../engine/config.ts';
import { ActRefused, StepFailed } from '../../engine/failures.ts';
import type { ResolvedPlace } from '../../engine/ids.ts';
import { type AnyPipeline, pipeline } from '../../engine/pipeline.ts';
import { submissionOf } from '../../engine/submission.ts';
import type {
  ExecutionId,
  InteractionId,
  Payload,
  PipelineName,
  ProjectName,
} from '../../execution/names.ts';
import type { AnswerRefusal } from '../../execution/refusal.ts';
import type { Outcome } from '../../store/contract/execution-store.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';

const RELAY = 'holdfast.answer';
const NAME_BYTES_MAX = 256;
/** It ends by itself when nobody is left who waits for it. */
const DEADLINE_EXTRA_MS = 5_000;
const EVENTS_MAX = 100;

/** What a check needs to know, in this process or in another one. */
export interface CheckAsked {
  readonly id: InteractionId;
  readonly place?: ResolvedPlace;
  readonly project: ProjectName;
  readonly value: unknown;
  readonly by?: string;
}

export type Checked =
  | { readonly kind: 'fit'; readonly value: unknown }
  | ({ readonly kind: 'refused' } & AnswerRefusal);

/** Waits for an execution to end. */
export type Ended = (id: ExecutionId, signal: AbortSignal) => Promise<Outcome>;
type Check = (asked: CheckAsked) => Promise<Checked>;

/** For each pipeline that has questions, what checks answers to them. Known to every worker that has it. */
export function relayPipelines(
  pipelines: Iterable<AnyPipeline>,
  check: Check,
): readonly AnyPipeline[] {
  return [...pipelines]
    .filter(({ awaits = [] }) => awaits.length > 0)
    .map(({ name }) => relayName(name))
    .filter((name) => Buffer.byteLength(name) <= NAME_BYTES_MAX)
    .map((name) => relayPipeline(name, check));
}

export function relayName(name: PipelineName): string {
  return `${RELAY}/${name}`;
}

export function isRelayName(name: string): boolean {
  return name.startsWith(`${RELAY}/`);
}

function relayPipeline(name: string, check: Check): AnyPipeline {
  return pipeline<CheckAsked, null>({
    name,
    async run(ctx, asked) {
      try {
        await ctx.step('check', () => fitValue(check, asked), { retry: { attempts: 1 } });
      } catch (error) {
        // That it was refused is in the history: the check itself has gone well.
        if (!(error instanceof StepFailed)) throw error;
      }
      return null;
    },
  }) as AnyPipeline;
}

async function fitValue(check: Check, asked: CheckAsked): Promise<unknown> {
  const checked = await check(asked);
  if (checked.kind === 'refused') throw new ActRefused(checked);
  return checked.value;
}

export type Relayed =
  | { readonly kind: 'checked'; readonly value: Payload }
  | ({ readonly kind: 'refused' } & AnswerRefusal);

/** Throws InvalidInput, as a check in this process would. */
export async function relay(
  config: EngineConfig,
  ended: Ended,
  { pipeline: name, asked }: { readonly pipeline: PipelineName; readonly asked: CheckAsked },
): Promise<Relayed> {
  const { relayAnswersMs = 0, store, timers } = config;
  const { id: interaction, project } = asked;
  const submission = await submissionOf(config, relayName(name), {
    input: asked,
    options: {
      project,
      lane: 'interactive',
      deadlineMs: relayAnswersMs + DEADLINE_EXTRA_MS,
      tags: [RELAY],
      by: RELAY,
    },
  });
  const { id } = submission;
  await store.executions.submit(submission);
  const over = new AbortController();
  const stop = timers.after(relayAnswersMs, () => over.abort());
  try {
    const { status } = await ended(id, over.signal);
    if (status === 'completed') return await resultOf(config, id, interaction);
  } catch (error) {
    if (!over.signal.aborted) throw error;
    const body = JSON.stringify({ by: RELAY, reason: 'nobody took it in time' }) as Payload;
    await store.executions.cancel({ id, project, body });
  } finally {
    stop();
  }
  return { kind: 'refused', why: 'no-worker', id: interaction, pipeline: name };
}

interface StepBody {
  readonly out?: object;
  readonly failure?: { readonly code: string; readonly message: string };
}

async function resultOf(
  config: EngineConfig,
  id: ExecutionId,
  interaction: InteractionId,
): Promise<Relayed> {
  const events = await config.store.executions.history({ id, after: 0, limit: EVENTS_MAX });
  const step = events.findLast(({ kind }) => kind === 'step-completed' || kind === 'step-failed');
  const { out = {}, failure } = JSON.parse(step?.body ?? '{}') as StepBody;
  if (failure === undefined) return { kind: 'checked', value: JSON.stringify(out) as Payload };
  const { code, message } = failure;
  if (code === 'answer-too-early') return { kind: 'refused', why: code, id: interaction };
  if (code === 'invalid-input') throw new InvalidInput(message);
  // The worker's own words: they must not choose the status of the response.
  const detail = `A worker failed to check this answer. It reported ${code}: ${message}`;
  throw new Fault('answer-check-failed', detail);
}
