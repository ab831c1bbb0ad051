// Prepares an answer for the store: finds its interaction, checks the value, and encodes it. All of
// that happens before the call to the store, so an invalid answer changes nothing.

import type { EngineConfig, WorkerConfig } from '../../engine/config.ts';
import { OperationRefused, StepFailed } from '../../engine/failures.ts';
import {
  type InteractionPlace,
  interactionIdOf,
  parseInteractionId,
  type ResolvedPlace,
  resolvedPlace,
} from '../../engine/ids.ts';
import { type AnyPipeline, pipeline, questionOf } from '../../engine/pipeline.ts';
import { possibleWorkers } from '../../engine/possible-workers.ts';
import { type Ended, runOnWorker } from '../../engine/run-on-worker.ts';
import { canonicalDigest } from '../../engine/submission.ts';
import { REQUEST } from '../../engine/values/place.ts';
import type {
  ExecutionId,
  InteractionId,
  Payload,
  PipelineName,
  ProjectName,
} from '../../execution/names.ts';
import type { AnswerRefusal } from '../../execution/refusal.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { historyPage } from '../../store/contract/body-pages.ts';
import { toInstant } from '../../support/clock.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import type { AnswerRequest } from './decide.ts';
import type { AwaitUnit, Interaction } from './model.ts';
import { type AnyQuestion, trusted } from './question-api.ts';

/**
 * An interaction: its id, `correlation:` and its correlation, or execution and name. Only the last
 * can be answered before the execution asks.
 */
export type InteractionTarget = string | InteractionPlace;

export interface Located {
  readonly id: InteractionId;
  readonly place?: ResolvedPlace;
}

export interface Sent {
  readonly project: ProjectName;
  readonly value: unknown;
  readonly actor: string | undefined;
  /** The answer came by a link with a valid signature. */
  readonly verified: boolean;
}

type Refused = { readonly kind: 'refused' } & AnswerRefusal;

export function located(target: InteractionTarget): Located {
  if (typeof target === 'string') return { id: parseInteractionId(target) };
  const place = resolvedPlace(target);
  return { id: interactionIdOf(place), place };
}

/**
 * Checks an answer and returns the value to store. Throws with the path if the value does not fit
 * the question.
 */
export async function checkedAnswer(config: WorkerConfig, check: AnswerCheck): Promise<Checked> {
  const { id, by, project, value } = check;
  const found = await openQuestion(config, check, project);
  if (found.kind === 'refused') return found;
  const { question, request } = found;
  if (question === undefined) return { kind: 'fit', value };
  const about = {
    id,
    at: toInstant(config.clock.wallMs()),
    ...(by === undefined ? {} : { actor: by }),
  };
  return { kind: 'fit', value: await trusted(question, value, { about, request }) };
}

/** `ended` serves answers that only a worker can check. */
export async function answerRequest(
  config: EngineConfig,
  { target, ended }: { readonly target: Located; readonly ended: Ended },
  sent: Sent,
): Promise<({ readonly kind: 'fit' } & AnswerRequest) | Refused> {
  const { project, actor, verified } = sent;
  config.payloads.check('The answer', sent.value);
  const who = actor === undefined ? {} : { by: actor };
  const check: AnswerCheck = { ...target, project, value: sent.value, ...who };
  const stored = await storedAnswer(config, ended, check);
  if (stored.kind === 'refused') return stored;
  return {
    kind: 'fit',
    ...{ ...target, project, verified, value: stored.value },
    // Digest the sent value, because a projection may add parts that the answerer did not choose.
    digest: canonicalDigest(sent.value),
    ...(actor === undefined ? {} : { actor }),
  };
}

async function storedAnswer(
  config: EngineConfig,
  ended: Ended,
  check: AnswerCheck,
): Promise<Relayed> {
  const checked = await checkedAnswer(config, check);
  if (checked.kind === 'refused') {
    const isElsewhere = checked.why === 'question-unknown' && config.relayAnswersMs !== undefined;
    return isElsewhere ? relay(config, ended, { pipeline: checked.pipeline, check }) : checked;
  }
  const value = await config.payloads
    .of(check.project)
    .encode('The projected answer', checked.value, { owner: check.id, position: 'answer' });
  return { kind: 'checked', value };
}

interface OpenQuestion {
  readonly kind: 'open';
  /** Undefined when any answer is valid. */
  readonly question: AnyQuestion | undefined;
  request(): unknown;
}

async function openQuestion(
  config: WorkerConfig,
  { id, place }: Located,
  project: ProjectName,
): Promise<OpenQuestion | Refused> {
  const found = await config.store.executions.interaction({ project, id });
  if (found?.unit === undefined) return earlyQuestion(config, { id, place }, project);
  const { pipeline, name, checked } = found.unit;
  if (!checked) return anything();
  const known = config.pipelines.get(pipeline);
  const question = known && questionOf(known, name);
  if (question === undefined) return { kind: 'refused', why: 'question-unknown', id, pipeline };
  const { request } = found.interaction;
  return { kind: 'open', question, request: () => decoded(config, project, request) };
}

/** Only the code knows the question before the execution asks it (W-2). */
async function earlyQuestion(
  config: WorkerConfig,
  { id, place }: { readonly id: InteractionId; readonly place: ResolvedPlace | undefined },
  project: ProjectName,
): Promise<OpenQuestion | Refused> {
  const execution = place && (await config.store.executions.read(place.execution));
  // There is nothing to check: the store will refuse the unknown await.
  if (place === undefined || execution === undefined || execution.project !== project) {
    return anything();
  }
  const { pipeline } = execution;
  const known = config.pipelines.get(pipeline);
  if (known === undefined) return { kind: 'refused', why: 'question-unknown', id, pipeline };
  const question = questionOf(
    known,
    place.call.slice('await:'.length, place.call.lastIndexOf('#')),
  );
  if (question?.project !== undefined) return { kind: 'refused', why: 'answer-too-early', id };
  return { ...anything(), question };
}

function anything(): OpenQuestion {
  return { kind: 'open', question: undefined, request: () => undefined };
}

function decoded(
  config: WorkerConfig,
  project: ProjectName,
  payload: Payload | undefined,
): unknown {
  return payload === undefined
    ? undefined
    : config.payloads.of(project).decode(payload, { position: REQUEST });
}

// Answers whose check needs code that only workers have. A worker checks them in a short execution
// of the engine's own. The relaying process reads the stored result from its history, so it needs
// neither the code nor the codec.

const RELAY = 'holdfast.answer';
const EVENTS_MAX = 100;

/** The input of a check, in this process or in another one. */
interface AnswerCheck {
  readonly id: InteractionId;
  readonly place?: ResolvedPlace;
  readonly project: ProjectName;
  readonly value: unknown;
  /** The actor. It is stored in the input of the execution that checks, so its name stays. */
  readonly by?: string;
}

type Checked =
  | { readonly kind: 'fit'; readonly value: unknown }
  | ({ readonly kind: 'refused' } & AnswerRefusal);

type Check = (answer: AnswerCheck) => Promise<Checked>;

/**
 * For each pipeline with questions, the pipeline that checks answers to them. Every worker with the
 * pipeline runs it.
 */
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
  return pipeline<AnswerCheck, null>({
    name,
    async run(ctx, answer) {
      try {
        await ctx.step('check', () => fitValue(check, answer), { retry: { attempts: 1 } });
      } catch (error) {
        // The refusal is in the history, so the check itself succeeded.
        if (!(error instanceof StepFailed)) throw error;
      }
      return null;
    },
  }) as AnyPipeline;
}

async function fitValue(check: Check, answer: AnswerCheck): Promise<unknown> {
  const checked = await check(answer);
  if (checked.kind === 'refused') throw new OperationRefused(checked);
  return checked.value;
}

type Relayed =
  | { readonly kind: 'checked'; readonly value: Payload }
  | ({ readonly kind: 'refused' } & AnswerRefusal);

/** Throws InvalidInput, like a check in this process. */
async function relay(
  config: EngineConfig,
  ended: Ended,
  { pipeline: name, check }: { readonly pipeline: PipelineName; readonly check: AnswerCheck },
): Promise<Relayed> {
  const { id: interaction, project } = check;
  const { id, outcome } = await runOnWorker(config, ended, {
    ...{ pipeline: relayName(name), project, input: check, tag: RELAY },
    waitMs: config.relayAnswersMs ?? 0,
  });
  if (outcome?.status === 'completed') return resultOf(config, id, interaction);
  if (outcome === undefined) {
    const body = JSON.stringify({ by: RELAY, reason: 'no worker took it in time' }) as Payload;
    await config.store.executions.cancel({ id, project, body });
  }
  const isEarly = await isUnchecked(config, { id: interaction, project, pipeline: name });
  const why = isEarly ? 'answer-too-early' : 'no-worker';
  return { kind: 'refused', why, id: interaction, pipeline: name };
}

/**
 * True for an early answer that no worker checks although one has the pipeline. Workers check early
 * answers only to questions that the pipeline declares.
 */
async function isUnchecked(
  config: EngineConfig,
  about: Pick<AwaitUnit, 'project' | 'pipeline'> & Pick<Interaction, 'id'>,
): Promise<boolean> {
  const found = await config.store.executions.interaction(about);
  if (found?.unit !== undefined) return false;
  const workers = await possibleWorkers(config, about);
  return workers.some(({ state }) => state !== 'stuck');
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
  const { items: events } = await historyPage(config.store.executions, {
    ...{ id, after: 0, limit: EVENTS_MAX },
  });
  const step = events.findLast(({ kind }) => kind === 'step-completed' || kind === 'step-failed');
  const { out = {}, failure } = JSON.parse(step?.body ?? '{}') as StepBody;
  if (failure === undefined) return { kind: 'checked', value: JSON.stringify(out) as Payload };
  const { code, message } = failure;
  if (code === 'answer-too-early') return { kind: 'refused', why: code, id: interaction };
  if (code === 'invalid-input') throw new InvalidInput(message);
  // The worker chose these words. They must not choose the status of the response.
  const detail = `A worker failed to check this answer: ${code}: ${message} Nothing was changed. Fix the code that checks it, and answer again.`;
  throw new Fault('answer-check-failed', detail);
}
