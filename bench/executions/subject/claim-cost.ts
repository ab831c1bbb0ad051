import type { Payload } from '../../../src/execution/names.ts';
import { openSession, type Session } from '../../../src/index.ts';
import type { Claimed } from '../../../src/store/contract/execution-store.ts';
import { type Round, roundOf } from '../../measure.ts';
import type { Place } from '../place.ts';
import { type Copied, copyExecution } from './copies.ts';
import { ORDER, openSubject, type Subject, stepsPipeline } from './open-subject.ts';

export interface ClaimCostOrder {
  readonly many: number;
  readonly batch: number;
  readonly rounds: number;
  readonly warmUp: number;
}

export const CROWDS = ['empty', 'terminal', 'behind'] as const;

/** What a store is full of while the claim is measured. */
export type Crowd = (typeof CROWDS)[number];

/** Per crowd one entry for each round, in the order of the rounds. */
export type ClaimCost = Readonly<Record<Crowd, readonly Round[]>>;

interface Stage {
  readonly crowd: Crowd;
  readonly subject: Subject;
  readonly session: Session;
  readonly rounds: Round[];
}

const WORK = stepsPipeline(1);

/** Long, so that no heartbeat falls into a measurement. */
const TTL_MS = 3_600_000;

/** One store per crowd; they take turns. Everything is of one pipeline, project and lane. */
export async function claimCost(place: Place, order: ClaimCostOrder): Promise<ClaimCost> {
  const stages: Stage[] = [];
  for (const crowd of CROWDS) stages.push(await prepare(place, crowd, order.many));
  for (let round = -order.warmUp; round < order.rounds; round += 1) {
    for (const stage of round % 2 === 0 ? stages : stages.toReversed()) {
      const tookMs = await claimOnce(stage, order.batch);
      if (round >= 0) stage.rounds.push(roundOf([tookMs], tookMs));
    }
  }
  for (const { session, subject } of stages) {
    await session.close();
    await subject.close();
  }
  const entries = stages.map(({ crowd, rounds }) => [crowd, rounds]);
  return Object.fromEntries(entries) as ClaimCost;
}

async function prepare(place: Place, crowd: Crowd, many: number): Promise<Stage> {
  const subject = await openSubject(place, crowd);
  const session = await openSession({ store: subject.store, owner: 'bench', ttlMs: TTL_MS });
  const stage = { crowd, subject, session, rounds: [] };
  if (crowd === 'terminal') await copyEnded(stage, { place, part: crowd, copies: many });
  if (crowd === 'behind') await copyBehind(stage, { place, part: crowd, copies: many });
  return stage;
}

async function copyEnded({ subject: { holdfast } }: Stage, into: Copied): Promise<void> {
  const worker = await holdfast.worker({ pipelines: [WORK] });
  const handle = await holdfast.submit(WORK, ORDER);
  await handle.result();
  await worker.stop();
  await copyExecution(handle.id, into);
}

/** An execution that never ends has the one slot of a key; all others wait for it. */
async function copyBehind(stage: Stage, into: Copied): Promise<void> {
  const { holdfast } = stage.subject;
  const concurrency = { key: 'exhausted', limit: 1 };
  await holdfast.submit(WORK, ORDER, { concurrency });
  await claim(stage, 1);
  const { id } = await holdfast.submit(WORK, ORDER, { concurrency });
  await copyExecution(id, into);
}

async function claimOnce(stage: Stage, batch: number): Promise<number> {
  const { holdfast, store } = stage.subject;
  await Promise.all(Array.from({ length: batch }, () => holdfast.submit(WORK, ORDER)));
  const startedAt = performance.now();
  const claims = await claim(stage, batch);
  const tookMs = performance.now() - startedAt;
  const { id: session } = stage.session;
  await Promise.all(
    claims.map(({ execution, fence }) =>
      store.executions.finish({
        id: execution.id,
        fence,
        session,
        seq: execution.seq + 1,
        events: [{ kind: 'completed', body: '{}' as Payload }],
        status: 'completed',
      }),
    ),
  );
  return tookMs;
}

async function claim({ subject, session }: Stage, limit: number): Promise<readonly Claimed[]> {
  const answer = await subject.store.executions.claim({
    session: session.id,
    pipelines: [WORK.name],
    shares: [{ lane: 'interactive', limit }],
  });
  if (answer.kind !== 'claimed' || answer.claims.length !== limit) {
    throw new Error(
      `Not measured: a claim of ${limit} got ${JSON.stringify(answer).slice(0, 500)}.`,
    );
  }
  return answer.claims;
}
