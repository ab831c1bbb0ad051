// Runs the conformance cases one after the other on the worker behind the proxy.

import type { ConformanceCase } from './conformance-case.ts';
import { faultCases } from './fault-cases.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { leaseCases } from './lease-cases.ts';
import { replayCases } from './replay-cases.ts';
import { sessionCases } from './session-cases.ts';
import { describeRefusals, kindIn, Nonconforming, Stage } from './stage.ts';
import { workCases } from './work-cases.ts';

/** In the order of their run. The last ones end the worker. */
export const CONFORMANCE_CASES: readonly ConformanceCase[] = [
  ...workCases,
  ...replayCases,
  ...faultCases,
  ...leaseCases,
  ...sessionCases,
];

/** The outcome of one case. */
export interface CaseReport extends Pick<ConformanceCase, 'name' | 'upholds' | 'expects'> {
  readonly ok: boolean;
  /** The behaviour of the worker, if it did not conform. */
  readonly found?: string;
  /** The section of the protocol page. */
  readonly see: string;
}

const PAGE = 'docs/reference/worker-protocol.md';

interface RunParts extends Pick<Stage, 'proxy' | 'client' | 'stopWorker'> {
  readonly cases: readonly ConformanceCase[];
  /** The longest wait for the first claim of the worker, in milliseconds. */
  readonly waitMs: number;
  onReport(report: CaseReport): void;
}

const START = {
  name: 'start',
  upholds: 'M-4, M-5',
  section: 'overview',
  expects: 'The worker sends greet, opens a session, and claims executions.',
} as const;

/** Returns true if the worker conforms. */
export async function runCases(parts: RunParts): Promise<boolean> {
  const { proxy, client, stopWorker, cases, waitMs, onReport } = parts;
  const started = await startProblem(proxy, waitMs);
  onReport(reportOf(START, started));
  if (started !== undefined) return false;
  let isConforming = true;
  for (const each of cases) {
    const stage = new Stage({ proxy, client, stopWorker });
    const found = await problemOf(each, stage);
    isConforming &&= found === undefined;
    onReport(reportOf(each, found));
    await stage.clean();
  }
  return isConforming;
}

async function startProblem(proxy: FaultProxy, waitMs: number): Promise<string | undefined> {
  const claimed = await proxy.until(
    () =>
      proxy.exchanges.find(
        ({ kind, reply }) => kind === 'claimExecutions' && kindIn(reply?.json) === 'claimed',
      ),
    waitMs,
  );
  const isWaiting = proxy.exchanges.some(
    ({ kind, body }) => kind === 'claimExecutions' && Number(body['waitMs'] ?? 0) > 0,
  );
  if (isWaiting) {
    return 'The worker sent a claim with waitMs, but the reply to greet has claimsWait: false. Wait for wakeups instead.';
  }
  if (claimed !== undefined) {
    return proxy.exchanges[0]?.kind === 'greet' ? undefined : 'The first message was not greet.';
  }
  const sent = [...new Set(proxy.exchanges.map(({ kind }) => kind))].join(', ');
  const refused = describeRefusals(proxy.exchanges);
  return `Within ${waitMs / 1_000} s, the worker claimed nothing. It sent: ${sent || 'nothing'}.${refused && ` ${refused}`}`;
}

async function problemOf(each: ConformanceCase, stage: Stage): Promise<string | undefined> {
  const claimed = stage.proxy.exchanges.findLast(({ kind }) => kind === 'claimExecutions');
  const hosted = (claimed?.body['pipelines'] ?? []) as readonly string[];
  const missing = each.hosts.filter((name) => !hosted.includes(name));
  if (missing.length > 0) {
    return `The worker does not claim ${missing.join(' and ')}. Host it, or choose other cases with --case.`;
  }
  try {
    await each.run(stage);
    return undefined;
  } catch (error) {
    if (error instanceof Nonconforming) return error.message;
    throw error;
  }
}

function reportOf(
  { name, upholds, expects, section }: Omit<ConformanceCase, 'run' | 'hosts'>,
  found: string | undefined,
): CaseReport {
  const ok = found === undefined;
  const see = `${PAGE}#${section}`;
  return { name, ok, upholds, expects, ...(found !== undefined && { found }), see };
}
