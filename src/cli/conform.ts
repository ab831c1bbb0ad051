// `holdfast conform` checks a worker in any language. It puts itself between the worker and a
// coordinator, gives the worker executions, disturbs its messages, and compares its behaviour with
// the protocol.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConformanceCase } from '../../contract/conform/conformance-case.ts';
import { FaultProxy } from '../../contract/conform/fault-proxy.ts';
import { type CaseReport, CONFORMANCE_CASES, runCases } from '../../contract/conform/run-cases.ts';
import { Nonconforming } from '../../contract/conform/stage.ts';
import { HoldfastClient } from '../client/client.ts';
import { parseProject } from '../execution/names.ts';
import { newKey, type Role, writeKey } from '../features/access/model.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { environmentWith } from '../support/environment.ts';
import { systemTimers } from '../support/timer.ts';
import {
  type CommandSpec,
  durationText,
  type ExitCode,
  integerText,
  listText,
  type Typed,
  unknown,
} from './command.ts';
import { clientFor } from './remote/connection.ts';
import { print, printLine, printProblem, printTable } from './screen.ts';

export const conformCommand: CommandSpec = {
  usage: 'holdfast conform [--url …] [--case replay,retry] [--json] [-- <command of the worker>]',
  flags: {
    url: {
      value: 'url',
      help: 'Coordinator to which the runner relays messages (default one of its own, for this run)',
    },
    'access-key': {
      value: 'key',
      help: 'Key of the runner at --url, with submit, work and operate; prefer HOLDFAST_KEY (default none)',
    },
    project: {
      value: 'name',
      help: 'Project at --url, for a key of all projects (default "default")',
    },
    port: { value: 'port', help: 'Port that the worker connects to (default a free one)' },
    case: { value: 'a,b', help: 'Cases to run, separated by commas (default all)' },
    wait: { value: 'duration', help: 'How long to wait for the worker to claim (default 60s)' },
    json: { help: 'Print JSON, one object per case' },
  },
  execute,
};

const WAIT_MS = 60_000;
const EXIT_MS = 30_000;

async function execute(typed: Typed): Promise<ExitCode> {
  const cases = chosenCases(typed);
  const waitMs = durationText('wait', typed.text('wait')) ?? WAIT_MS;
  const port = integerText('port', typed.text('port')) ?? 0;
  const coordinator = await coordinatorFor(typed);
  const proxy = new FaultProxy(coordinator.url);
  let worker: ChildProcess | undefined;
  try {
    const url = await proxy.listen(port);
    worker = startWorker(typed, { url, key: coordinator.workerKey });
    const reports: CaseReport[] = [];
    const isConforming = await runCases({
      ...{ proxy, client: coordinator.client, cases, waitMs },
      stopWorker: () => stopWorker(worker),
      onReport(report) {
        reports.push(report);
        if (typed.isSet('json')) printLine(report);
        else printProblem(`${report.ok ? 'ok  ' : 'FAIL'} ${report.name}`);
      },
    });
    if (!typed.isSet('json')) printReports(reports);
    return isConforming ? 0 : 1;
  } finally {
    worker?.kill('SIGKILL');
    await proxy.close();
    await coordinator.close();
  }
}

function chosenCases(typed: Typed): readonly ConformanceCase[] {
  const names = listText(typed.text('case'));
  const known = CONFORMANCE_CASES.map(({ name }) => name);
  const wrong = names?.find((name) => !known.includes(name));
  if (wrong !== undefined) throw unknown('case', wrong, known);
  return CONFORMANCE_CASES.filter(({ name }) => names === undefined || names.includes(name));
}

interface Coordinator {
  readonly url: string;
  readonly client: HoldfastClient;
  readonly workerKey: string | undefined;
  close(): Promise<void>;
}

async function coordinatorFor(typed: Typed): Promise<Coordinator> {
  const url = typed.text('url');
  if (url === undefined) return ownCoordinator();
  return {
    url,
    client: await clientFor(typed),
    workerKey: typed.text('access-key') ?? environmentWith('HOLDFAST_')['HOLDFAST_KEY'],
    close: async () => undefined,
  };
}

/** A coordinator for this run, with a key for the runner and one for the worker. */
async function ownCoordinator(): Promise<Coordinator> {
  const { openStore } = await import('../embedded/open-store.ts');
  const { openServer } = await import('../server/serve.ts');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-conform-'));
  const store = await openStore(join(folder, 'holdfast.db'));
  const server = await openServer({ store, port: 0, console: false });
  const key = await createKey(store, ['submit', 'work', 'operate']);
  return {
    url: server.url,
    client: new HoldfastClient({ url: server.url, key }),
    workerKey: await createKey(store, ['work', 'lease']),
    async close() {
      await server.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

const PROJECT = parseProject('default');

async function createKey(store: CoordinatorStore, roles: readonly Role[]): Promise<string> {
  const { id, secret, digest } = newKey();
  await store.access.createKey({ id, digest, roles, name: 'conform', project: PROJECT });
  return writeKey({ id, secret });
}

/** Starts the worker, or prints how to start it. */
function startWorker(
  { words }: Typed,
  { url, key }: { readonly url: string; readonly key: string | undefined },
): ChildProcess | undefined {
  const [command, ...rest] = words;
  const variables = { HOLDFAST_URL: url, ...(key === undefined ? {} : { HOLDFAST_KEY: key }) };
  if (command === undefined) {
    const text = Object.entries(variables).map((each) => each.join('='));
    printProblem(`Start your worker with ${text.join(' ')}`);
    return undefined;
  }
  // Its output goes to stderr, so that stdout has only the report.
  const worker = spawn(command, rest, {
    env: { ...environmentWith(''), ...variables },
    stdio: ['ignore', 2, 2],
  });
  worker.once('error', ({ message }) => printProblem(`The worker cannot be started: ${message}`));
  worker.once('exit', (code, signal) => {
    if (signal !== 'SIGKILL') printProblem(`The worker exited with ${code ?? signal}.`);
  });
  return worker;
}

async function stopWorker(worker: ChildProcess | undefined): Promise<void> {
  if (worker === undefined) {
    printProblem('Stop your worker now: send it SIGTERM, or press Ctrl-C in its terminal.');
    return;
  }
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  const late = new AbortController();
  const isLate = systemTimers.pause(EXIT_MS, late.signal).then(() => !late.signal.aborted);
  const hasExited = await Promise.race([exited.then(() => true), isLate.then((over) => !over)]);
  late.abort();
  if (!hasExited) {
    throw new Nonconforming(`The worker did not exit within ${EXIT_MS / 1_000} s after SIGTERM.`);
  }
}

function printReports(reports: readonly CaseReport[]): void {
  printTable([
    ['', 'case', 'rule', 'expected'],
    ...reports.map(({ ok, name, upholds, expects }) => [
      ok ? 'ok' : 'FAIL',
      name,
      upholds,
      expects,
    ]),
  ]);
  const failed = reports.filter(({ ok }) => !ok);
  for (const { name, upholds, expects, found = '', see } of failed) {
    print(
      `\n${name} (${upholds})\n  expected: ${expects}\n  found:    ${found}\n  see:      ${see}`,
    );
  }
  const passed = reports.length - failed.length;
  print(`\n${passed} of ${reports.length} cases pass.`);
}
