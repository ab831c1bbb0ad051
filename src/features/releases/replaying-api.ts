// Preflight, as workers do it: those of a release replay open executions with its code, as short executions of the
// engine's own that only they know by name. A coordinator has no code to run.

import type { EngineConfig, WorkerConfig } from '../../engine/config.ts';
import { type AnyPipeline, pipeline } from '../../engine/pipeline.ts';
import { dryReplay } from '../../engine/run/dry-replay.ts';
import { submissionOf } from '../../engine/submission.ts';
import type { WorkerSettings } from '../../engine/worker/worker-options.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import { REPLAY, replayName } from '../../execution/route.ts';
import type { Outcome } from '../../store/contract/execution-store.ts';
import { Fault } from '../../support/fault.ts';
import { shown } from '../../support/options.ts';
import type { BrokenReplay } from './model.ts';

const NAME_BYTES_MAX = 256;
/** It ends by itself when nobody is left who waits for it. */
const DEADLINE_EXTRA_MS = 5_000;

interface Asked {
  readonly executions: readonly ExecutionId[];
}

interface Replayed {
  /** Of the artifact that ran them. */
  readonly digest: string;
  readonly broken: readonly BrokenReplay[];
}

export function isReplayName(name: string): boolean {
  return name.startsWith(`${REPLAY}/`);
}

export function replayPipelines(
  config: WorkerConfig,
  { pipelines, release }: Pick<WorkerSettings, 'pipelines' | 'release'>,
): readonly AnyPipeline[] {
  if (release === undefined) return [];
  return [...pipelines.values()].flatMap((code) => {
    const name = replayName(release.name, code.name);
    if (Buffer.byteLength(name) > NAME_BYTES_MAX) return [];
    const made = pipeline<Asked, Replayed>({
      name,
      run: (ctx, { executions }) =>
        ctx.step('replay', async ({ signal: over }) => {
          const replays = executions.map((id) => dryReplay(config, code, { id, over }));
          const found = await Promise.all(replays);
          return { digest: release.digest, broken: found.flatMap((each) => each ?? []) };
        }),
    });
    return [made as AnyPipeline];
  });
}

export interface ReplayAsked {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  readonly release: string;
  readonly digest: string;
  readonly executions: readonly ExecutionId[];
  /** How long a worker has to take it and be done. */
  readonly waitMs: number;
}

/** Waits for an execution to end. */
export type Ended = (id: ExecutionId, signal: AbortSignal) => Promise<Outcome>;

/** Undefined when nobody did it in time. */
export async function replayElsewhere(
  config: EngineConfig,
  ended: Ended,
  asked: ReplayAsked,
): Promise<readonly BrokenReplay[] | undefined> {
  const { project, executions, waitMs, release } = asked;
  const submission = await submissionOf(config, replayName(release, asked.pipeline), {
    input: { executions },
    options: { project, deadlineMs: waitMs + DEADLINE_EXTRA_MS, tags: [REPLAY], by: REPLAY },
  });
  const { id } = submission;
  await config.store.executions.submit(submission);
  const over = new AbortController();
  const stop = config.timers.after(waitMs, () => over.abort());
  try {
    const { status, event } = await ended(id, over.signal);
    return status === 'completed' ? await brokenIn(config, event.body ?? '{}', asked) : undefined;
  } catch (error) {
    if (!over.signal.aborted) throw error;
    return undefined;
  } finally {
    stop();
  }
}

async function brokenIn(
  config: EngineConfig,
  body: string,
  asked: ReplayAsked,
): Promise<readonly BrokenReplay[]> {
  const { out = {} } = JSON.parse(body) as { readonly out?: object };
  const replayed = await config.payloads.of(asked.project).decodeEnvelope(out);
  const broken = brokenSaid(replayed, asked);
  if (broken !== undefined) return broken;
  throw new Fault(
    'release-differs',
    `The worker that replayed for release "${asked.release}" has another artifact (${shown((replayed as Partial<Replayed> | null)?.digest)}) than was registered. Stop it, or give its build a name of its own.`,
  );
}

/** Undefined when it was replayed by another artifact. */
export function brokenSaid(
  said: unknown,
  { digest, executions }: Pick<ReplayAsked, 'digest' | 'executions'>,
): readonly BrokenReplay[] | undefined {
  const replayed = said as Partial<Replayed> | null;
  return replayed?.digest === digest ? brokenOf(replayed.broken, executions) : undefined;
}

const WHY_CHARS_MAX = 4_096;
const RELEASE_CHARS_MAX = 128;

/** A worker says it, who may be anybody with that role: it stays with the release, for people to read. */
function brokenOf(said: unknown, asked: readonly ExecutionId[]): readonly BrokenReplay[] {
  const list: readonly unknown[] = Array.isArray(said) ? said : [];
  return list.slice(0, asked.length).flatMap((each) => {
    const { execution, release, seq, why } = (each ?? {}) as Partial<BrokenReplay>;
    if (execution === undefined || !asked.includes(execution) || typeof why !== 'string') return [];
    return {
      execution,
      why: why.slice(0, WHY_CHARS_MAX),
      ...(typeof release === 'string' ? { release: release.slice(0, RELEASE_CHARS_MAX) } : {}),
      ...(Number.isSafeInteger(seq) ? { seq } : {}),
    } as BrokenReplay;
  });
}
