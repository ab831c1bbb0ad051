import type { Payload } from '../../../src/execution/names.ts';
import { openSession, type Session } from '../../../src/index.ts';
import type { Claimed } from '../../../src/store/contract/execution-store.ts';
import { type Round, roundOf } from '../../measure.ts';
import type { StoreLocation } from '../store-location.ts';
import { type Copied, copyEnded, copyExecution } from './copies.ts';
import { ORDER, openSubject, type Subject, stepsPipeline } from './open-subject.ts';

export interface ClaimCostOrder {
  readonly many: number;
  readonly batch: number;
  readonly rounds: number;
  readonly warmUp: number;
}

export const CROWDS = ['empty', 'terminal', 'behind'] as const;

/** The other executions in the store while claims are measured. */
export type Crowd = (typeof CROWDS)[number];

export type ClaimCost = Readonly<Record<Crowd, readonly Round[]>>;

interface Stage {
  readonly crowd: Crowd;
  readonly subject: Subject;
  readonly session: Session;
  readonly rounds: Round[];
}

const WORK = stepsPipeline(1);

/** So long that no heartbeat runs during a measurement. */
const TTL_MS = 3_600_000;

/** Opens one store per crowd; they take turns. All executions have one pipeline, project and lane. */
export async function claimCost(
  location: StoreLocation,
  order: ClaimCostOrder,
): Promise<ClaimCost> {
  const stages: Stage[] = [];
  for (const crowd of CROWDS) stages.push(await prepare(location, crowd, order.many));
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

async function prepare(location: StoreLocation, crowd: Crowd, many: number): Promise<Stage> {
  const subject = await openSubject(location, crowd);
  const session = await openSession({ store: subject.store, owner: 'bench', ttlMs: TTL_MS });
  const stage = { crowd, subject, session, rounds: [] };
  if (crowd === 'terminal')
    await copyEnded(subject.holdfast, { location, part: crowd, copies: many });
  if (crowd === 'behind') await copyBehind(stage, { location, part: crowd, copies: many });
  return stage;
}

/** An execution that never ends holds the only slot of a key. All copies wait for it. */
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
  const result = await subject.store.executions.claim({
    session: session.id,
    pipelines: [WORK.name],
    shares: [{ lane: 'interactive', limit }],
  });
  if (result.kind !== 'claimed' || result.claims.length !== limit) {
    throw new Error(
      `Not measured: a claim of ${limit} returned ${JSON.stringify(result).slice(0, 500)}.`,
    );
  }
  return result.claims;
}
