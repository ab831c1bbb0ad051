// An answer on its way to the store: which interaction it is for, whether it is fit, and what is stored of
// it. All of that happens before the store is asked, so that an answer that is not fit changes nothing.

import type { EngineConfig, WorkerConfig } from '../../engine/config.ts';
import {
  type InteractionPlace,
  interactionIdOf,
  parseInteractionId,
  type ResolvedPlace,
  resolvedPlace,
} from '../../engine/ids.ts';
import { questionOf } from '../../engine/pipeline.ts';
import { canonicalDigest } from '../../engine/submission.ts';
import { REQUEST } from '../../engine/values/place.ts';
import type { InteractionId, Payload, ProjectName } from '../../execution/names.ts';
import type { AnswerRefusal } from '../../execution/refusal.ts';
import { toInstant } from '../../support/clock.ts';
import type { AnswerRequest } from './decide.ts';
import { type AnyQuestion, trusted } from './questions-api.ts';
import { type CheckAsked, type Checked, type Ended, type Relayed, relay } from './relay-api.ts';

/** An interaction by its id, or by where it stands: then it can be answered before it is asked. */
export type InteractionTarget = string | InteractionPlace;

export interface Located {
  readonly id: InteractionId;
  readonly place?: ResolvedPlace;
}

export interface Sent {
  readonly project: ProjectName;
  readonly value: unknown;
  readonly by: string | undefined;
  /** By a link whose signature was checked. */
  readonly verified: boolean;
}

type Refused = { readonly kind: 'refused' } & AnswerRefusal;

export function located(target: InteractionTarget): Located {
  if (typeof target === 'string') return { id: parseInteractionId(target) };
  const place = resolvedPlace(target);
  return { id: interactionIdOf(place), place };
}

/** What is stored of an answer. Throws with the path when the value is not what was asked for. */
export async function checkedAnswer(config: WorkerConfig, asked: CheckAsked): Promise<Checked> {
  const { id, by, project, value } = asked;
  const found = await whatIsAsked(config, asked, project);
  if (found.kind === 'refused') return found;
  const { question, request } = found;
  if (question === undefined) return { kind: 'fit', value };
  const about = { id, at: toInstant(config.clock.wallMs()), ...(by === undefined ? {} : { by }) };
  return { kind: 'fit', value: await trusted(question, value, { about, request }) };
}

/** `ended`: for what only a worker can check. */
export async function answerRequest(
  config: EngineConfig,
  { target, ended }: { readonly target: Located; readonly ended: Ended },
  sent: Sent,
): Promise<({ readonly kind: 'fit' } & AnswerRequest) | Refused> {
  const { project, by, verified } = sent;
  config.payloads.check('The answer', sent.value);
  const who = by === undefined ? {} : { by };
  const asked: CheckAsked = { ...target, project, value: sent.value, ...who };
  const stored = await storedAnswer(config, ended, asked);
  if (stored.kind === 'refused') return stored;
  return {
    kind: 'fit',
    ...{ ...target, project, verified, value: stored.value },
    // Of what was sent: a projection may differ in what is not the answerer's to say.
    digest: canonicalDigest(sent.value),
    ...who,
  };
}

async function storedAnswer(
  config: EngineConfig,
  ended: Ended,
  asked: CheckAsked,
): Promise<Relayed> {
  const checked = await checkedAnswer(config, asked);
  if (checked.kind === 'refused') {
    const isElsewhere = checked.why === 'question-unknown' && config.relayAnswersMs !== undefined;
    return isElsewhere ? relay(config, ended, { pipeline: checked.pipeline, asked }) : checked;
  }
  const value = await config.payloads
    .of(asked.project)
    .encode('What is made of the answer', checked.value, {
      ...{ owner: asked.id, position: 'answer' },
    });
  return { kind: 'checked', value };
}

interface WhatIsAsked {
  readonly kind: 'asked';
  /** Undefined when any answer is fit. */
  readonly question: AnyQuestion | undefined;
  request(): unknown;
}

async function whatIsAsked(
  config: WorkerConfig,
  { id, place }: Located,
  project: ProjectName,
): Promise<WhatIsAsked | Refused> {
  const found = await config.store.executions.interaction({ project, id });
  if (found?.unit === undefined) return notAskedYet(config, { id, place }, project);
  const { pipeline, name, checked } = found.unit;
  if (!checked) return anything();
  const known = config.pipelines.get(pipeline);
  const question = known && questionOf(known, name);
  if (question === undefined) return { kind: 'refused', why: 'question-unknown', id, pipeline };
  const { request } = found.interaction;
  return { kind: 'asked', question, request: () => decoded(config, project, request) };
}

/** W-2. What will be checked can be told only by the code. */
async function notAskedYet(
  config: WorkerConfig,
  { id, place }: { readonly id: InteractionId; readonly place: ResolvedPlace | undefined },
  project: ProjectName,
): Promise<WhatIsAsked | Refused> {
  const execution = place && (await config.store.executions.read(place.execution));
  // Nothing to be checked: the store says that there is no such await.
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

function anything(): WhatIsAsked {
  return { kind: 'asked', question: undefined, request: () => undefined };
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
