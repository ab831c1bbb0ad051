// A coordinator behind the proxy of the conformance runner, and the cases on a worker in front.

import { FaultProxy } from '../../contract/conform/fault-proxy.ts';
import { type CaseReport, CONFORMANCE_CASES, runCases } from '../../contract/conform/run-cases.ts';
import { HoldfastClient } from '../../src/client/client.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { sample } from '../services/tier.ts';
import { createKey } from '../transport/backend.ts';

/** Short, because several cases last as long as the worker's ttl. */
export const TTL_MS = 3_000;

/** The cases that this run takes of a worker that must pass all of them. Most of them wait for the worker's ttl. */
export function sampledCases(worker: string): readonly string[] {
  const names = CONFORMANCE_CASES.map(({ name }) => name);
  return sample(`conformance cases, ${worker}`, names, 8);
}

interface StoppableWorker {
  stop(): Promise<void>;
}

/** Runs cases on a worker and returns their reports, by name. */
export async function conformance(
  open: (at: { readonly url: string; readonly key: string }) => Promise<StoppableWorker>,
  names: readonly string[],
): Promise<ReadonlyMap<string, CaseReport>> {
  const store = openMemoryStore();
  const server = await openServer({ store, port: 0, console: false });
  const proxy = new FaultProxy(server.url);
  const client = new HoldfastClient({
    url: server.url,
    key: await createKey(store, 'default', ['submit', 'work', 'operate']),
  });
  const url = await proxy.listen(0);
  const worker = await open({ url, key: await createKey(store, 'default', ['work', 'lease']) });
  const reports = new Map<string, CaseReport>();
  try {
    await runCases({
      ...{ proxy, client, waitMs: 10_000 },
      cases: CONFORMANCE_CASES.filter(({ name }) => names.includes(name)),
      stopWorker: () => worker.stop(),
      onReport: (report) => reports.set(report.name, report),
    });
  } finally {
    await worker.stop();
    await proxy.close();
    await server.close();
    await store.close();
  }
  return reports;
}
