// The cost suite: CPU time and memory of the most expensive valid request of each route, on a project
// that is as large as limits allow.

import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { TestCoordinator } from '../../test/server/coordinator.ts';
import { plantRich, requestsFor, send } from '../../test/server/cost/requests.ts';
import type { Result } from '../report.ts';
import type { Plan, Suite } from '../suite.ts';

export const costSuite: Suite = {
  name: 'cost',
  summary: 'CPU time and memory of the most expensive valid request of each route',
  legend: [
    'cpu: CPU time of the process for one request, including the client; median of the rounds.',
    'rss: growth of the process during the request; maximum of the rounds.',
  ],
  run: runCostSuite,
};

const MIB = 1024 * 1024;

async function* runCostSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  if (!plan.stores.includes('memory')) return;
  const log = { info: () => undefined, fault: () => undefined };
  const limits = { relayAnswersMs: 100 };
  const store = openMemoryStore();
  await using coordinator = await TestCoordinator.open({ store, log, limits, maintenance: false });
  const rich = await plantRich(coordinator);
  const rounds = plan.quick ? 3 : 15;
  for (const request of requestsFor(rich)) {
    const name = `${request.name}, ${request.shape}`;
    if (!name.includes(plan.only)) continue;
    plan.progress(name);
    const body = request.body?.();
    const made = { ...request, ...(body !== undefined && { body: () => body }) };
    const found = await measured(rounds, () => send(coordinator.url, rich.key, made));
    const about = { suite: 'cost', case: name, store: 'memory', settings: { rounds } };
    yield { ...about, metric: 'cpu', value: found.cpuMs, unit: 'ms' };
    yield { ...about, metric: 'rss', value: found.rssMib, unit: 'MiB' };
  }
}

async function measured(
  rounds: number,
  what: () => Promise<unknown>,
): Promise<{ readonly cpuMs: number; readonly rssMib: number }> {
  const cpu: number[] = [];
  let rssMib = 0;
  for (let nth = 0; nth < rounds; nth += 1) {
    const rss = process.memoryUsage.rss();
    const before = process.cpuUsage();
    await what();
    const { user, system } = process.cpuUsage(before);
    cpu.push((user + system) / 1_000);
    rssMib = Math.max(rssMib, (process.memoryUsage.rss() - rss) / MIB);
  }
  cpu.sort((a, b) => a - b);
  return { cpuMs: cpu[Math.floor(rounds / 2)] ?? 0, rssMib };
}
