// Development: the code that is here is all there is. What was saved becomes a release and is activated, and what is
// open moves to it where its replay passes; the rest stays where it is, and says why (RE-13).

import type { EngineConfig } from '../../engine/config.ts';
import { ReleaseRefused } from '../../engine/failures.ts';
import { type AnyPipeline, pipelinesByName } from '../../engine/pipeline.ts';
import { commandOf } from '../../engine/requests.ts';
import { dryReplay } from '../../engine/run/dry-replay.ts';
import { projectOf } from '../../engine/submission.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import { digestOf } from '../../support/digest.ts';
import { boundedText, readOptions } from '../../support/options.ts';
import { checkedActing, stampOf } from '../audit/api.ts';
import { contractVersion } from './contract-model.ts';
import { contractOf } from './contract-of-api.ts';
import { BROKEN_MAX, type BrokenReplay, type Release } from './model.ts';
import { IDLE, openElsewhere } from './preflight-api.ts';

export interface AdoptOptions {
  /** The text of the code, or anything that changes when it does. */
  readonly source: string;
  readonly project?: string;
  readonly by?: string;
}

export interface Adopted {
  /** For the worker that runs it. */
  readonly release: Pick<Release, 'name' | 'digest'>;
  readonly moved: number;
  /** They stay where they were; each says why. */
  readonly broken: readonly BrokenReplay[];
}

const PAGE = 200;
const SOURCE_BYTES_MAX = 64 * 1_024 * 1_024;
/** Whoever waits is told when the store is away. */
const AT_ONCE = AbortSignal.abort();
const REASON = 'the code was changed';

export async function adopt(
  config: EngineConfig,
  pipelines: unknown,
  options: AdoptOptions,
): Promise<Adopted> {
  const given = readOptions('releases.adopt', options, ['source', 'project', 'by']);
  const source = boundedText('source', given.source, SOURCE_BYTES_MAX);
  const { by } = checkedActing(given);
  const project = projectOf(given.project);
  const all = [...pipelinesByName('releases.adopt', pipelines).values()];
  const versions = all.map((each) => contractVersion(contractOf(each)));
  const digest = digestOf(Buffer.from(JSON.stringify([source, versions])));
  const release = { name: `dev-${digest.slice(0, 12)}`, digest: `sha256:${digest}` };
  const broken: BrokenReplay[] = [];
  let moved = 0;
  for (const code of all) {
    const done = await adoptOne(config, { code, project, by, release });
    broken.push(...done.broken);
    moved += done.moved;
  }
  return { release, moved, broken };
}

interface Adopting {
  readonly code: AnyPipeline;
  readonly project: ProjectName;
  readonly by: string;
  readonly release: Pick<Release, 'name' | 'digest'>;
}

async function adoptOne(
  config: EngineConfig,
  adopting: Adopting,
): Promise<{ readonly moved: number; readonly broken: readonly BrokenReplay[] }> {
  const { executions } = config.store;
  const { code, project, release } = adopting;
  const key = { project, pipeline: code.name, name: release.name };
  await register(config, adopting);
  // First: what is submitted from here on goes there by itself, and what was before is in the list.
  await activate(config, adopting);
  const open = await openElsewhere(config, key, IDLE);
  const replays = await inTurn(open, (id) => dryReplay(config, code, { id, over: AT_ONCE }));
  const broken = replays.flatMap((each) => each ?? []);
  const looked = { open: open.length, looked: open.length, changes: [] };
  const found = { broken: broken.slice(0, BROKEN_MAX), brokenCount: broken.length };
  await executions.notePreflight({ ...key, preflight: { ...looked, ...found } });
  const isBroken = new Set(broken.map(({ execution }) => execution));
  const fit = open.filter((id) => !isBroken.has(id));
  const answers = await inTurn(fit, (id) => move(config, adopting, id));
  return { moved: answers.filter((kind) => kind === 'moved').length, broken };
}

async function register(config: EngineConfig, adopting: Adopting): Promise<void> {
  const { code, project, by, release } = adopting;
  const contract = contractOf(code);
  const answer = await config.store.executions.registerRelease({
    ...{ project, pipeline: code.name, ...release, artifact: 'dev', contract, createdBy: by },
    contractVersion: contractVersion(contract),
  });
  if (answer.kind === 'refused') throw new ReleaseRefused(answer);
}

/** What it breaks is said of each that it breaks: there is no other code to go on with. */
async function activate(config: EngineConfig, adopting: Adopting): Promise<void> {
  const { code, project, by, release } = adopting;
  const answer = await config.store.executions.changeLine({
    ...{ project, pipeline: code.name, act: 'activate', name: release.name },
    ...{ actor: by, reason: REASON, force: true },
  });
  if (answer.kind === 'refused') throw new ReleaseRefused(answer);
}

async function move(config: EngineConfig, adopting: Adopting, id: ExecutionId): Promise<string> {
  const { project, by, release } = adopting;
  const acting = { project, by, reason: REASON };
  const { body } = commandOf('releases.adopt', id, acting);
  const audit = stampOf(config, 'move', acting);
  const asked = { id, project, to: release.name, body, audit };
  return (await config.store.executions.moveExecution(asked)).kind;
}

/** A few at once. */
async function inTurn<Result>(
  ids: readonly ExecutionId[],
  work: (id: ExecutionId) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < ids.length; from += PAGE) {
    results.push(...(await Promise.all(ids.slice(from, from + PAGE).map(work))));
  }
  return results;
}
