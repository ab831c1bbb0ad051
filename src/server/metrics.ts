// The metrics of a coordinator. prom-client is an optional peer dependency; without it, nothing is
// counted.

import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ExecutionRecord, Lane, TerminalStatus } from '../execution/execution.ts';
import { type NewEvent, parseBody } from '../execution/history.ts';
import {
  type ExecutionId,
  labelOf,
  type PipelineName,
  type ProjectName,
} from '../execution/names.ts';
import { type ReadStore, readingsOf, registerBacklog } from '../observe/backlog-metrics.ts';
import type { Depth } from '../store/contract/census-store.ts';
import type {
  Claimed,
  CoordinatorStore,
  ExecutionStore,
  OwnerWrite,
} from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { SharedRead } from '../support/turns.ts';

/** The parts of a store that metrics read. */
type ReadableStore = Pick<ExecutionStore, 'depth' | 'backlog' | 'workers'>;

/** A push endpoint, by the host of its URL. */
export interface EndpointCircuit {
  readonly host: string;
  readonly isOpen: boolean;
}

export interface ServerMetrics {
  readonly countsOf: CountsOf;
  /** Gauges come from this store. Readers share one query per second. */
  readFrom(executions: ReadableStore, clock: Clock): void;
  circuitsFrom(read: () => readonly EndpointCircuit[]): void;
  answered(route: string, status: number, tookMs: number): void;
  /** The number of requests held open now. */
  held(count: number): void;
  /**
   * For one project: the counts of its executions. For all: those, and the requests to this
   * coordinator.
   */
  read(project?: ProjectName): Promise<{ readonly type: string; readonly text: string }>;
}

/** Counting costs the store a query, and a reader may ask at any rate. */
const DEPTH_AGE_MS = 1_000;
/** A higher count adds no information and costs time. */
const DEPTH_MAX = 10_000;

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Undefined if prom-client is not installed. */
export async function openMetrics(): Promise<ServerMetrics | undefined> {
  const prom = await import('prom-client').catch(() => undefined);
  if (prom === undefined) return undefined;
  const registry = new prom.Registry();
  const registers = [registry];
  const requests: Counter = new prom.Counter({
    name: 'holdfast_http_requests_total',
    help: 'Requests with a response, by route and status.',
    labelNames: ['route', 'status'],
    registers,
  });
  const seconds: Histogram = new prom.Histogram({
    name: 'holdfast_http_request_seconds',
    help: 'The time to the response, including long polls and streams.',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers,
  });
  const open: Gauge = new prom.Gauge({
    name: 'holdfast_http_held',
    help: 'Long polls and streams that are open now.',
    registers,
  });
  let circuits: () => readonly EndpointCircuit[] = () => [];
  new prom.Gauge({
    name: 'holdfast_push_circuit_open',
    help: 'Whether calls to a push endpoint pause after failures: 1 or 0.',
    labelNames: ['host'],
    registers,
    collect() {
      this.reset();
      // Of two endpoints on one host, an open one counts.
      const open = new Set(circuits().flatMap(({ host, isOpen }) => (isOpen ? [host] : [])));
      for (const { host } of circuits()) this.set({ host }, open.has(host) ? 1 : 0);
    },
  });
  let source: { readonly executions: ReadableStore; readonly clock: Clock } | undefined;
  const counted = (project: ProjectName | undefined, into: Registry, max: number): CountsFor => {
    const of = project === undefined ? {} : { project };
    let depth: SharedRead<readonly Depth[]> | undefined;
    let readings: ReadStore | undefined;
    registerBacklog(prom, {
      registry: into,
      pipelinesMax: max,
      async read() {
        if (source === undefined) return undefined;
        readings ??= readingsOf(source.executions, source.clock, of);
        return readings();
      },
    });
    return executionMetrics(prom, into, async () => {
      if (source === undefined) return [];
      const { executions, clock } = source;
      const read = (): Promise<readonly Depth[]> => executions.depth({ max: DEPTH_MAX, ...of });
      depth ??= new SharedRead({ read, clock, ageMs: DEPTH_AGE_MS });
      return depth.found();
    });
  };
  const all = byPipeline(ALL_PIPELINES_MAX, counted(undefined, registry, ALL_PIPELINES_MAX));
  const projects = new Map<ProjectName, Counting>();
  const ofProject = (project: ProjectName): Counting => {
    const known = projects.get(project);
    if (known !== undefined) return known;
    const own = new prom.Registry();
    const ofLabel = counted(project, own, PIPELINES_MAX);
    const countsOf = byPipeline(PIPELINES_MAX, (label) => both(all(label), ofLabel(label)));
    const counting = { registry: own, countsOf };
    projects.set(project, counting);
    return counting;
  };
  return {
    countsOf: (project, pipeline) =>
      (project === undefined ? all : ofProject(project).countsOf)(pipeline),
    readFrom(executions, clock) {
      source = { executions, clock };
    },
    circuitsFrom(read) {
      circuits = read;
    },
    answered(route, status, tookMs) {
      requests.inc({ route, status: String(status) });
      seconds.observe({ route }, tookMs / 1_000);
    },
    held: (count) => open.set(count),
    async read(project) {
      const { contentType: type } = registry;
      const from = project === undefined ? registry : ofProject(project).registry;
      return { type, text: await from.metrics() };
    },
  };
}

/** Projects are not labels: their number is unbounded, and each is read by itself. */
interface Counting {
  readonly registry: Registry;
  readonly countsOf: (pipeline: string | undefined) => ExecutionCounts;
}

/** By the label of a pipeline. */
type CountsFor = (label: string) => ExecutionCounts;

/**
 * The limits for one project and for the coordinator. Each label is a dozen series that stay in
 * memory.
 */
const PIPELINES_MAX = 50;
const ALL_PIPELINES_MAX = 1_000;
const OTHER = '(other)';
const UNKNOWN = '(unknown)';

/**
 * Tenants choose the names, and their number is unbounded. The first few become labels; all others
 * share one.
 */
function byPipeline(max: number, countsFor: CountsFor): Counting['countsOf'] {
  const known = new Map<string, ExecutionCounts>();
  const countsOf = (label: string): ExecutionCounts => {
    const counts = known.get(label) ?? countsFor(label);
    known.set(label, counts);
    return counts;
  };
  return (pipeline = UNKNOWN) => {
    const label = labelOf(pipeline);
    const hasLabel = known.has(label) || known.size < max || label === UNKNOWN;
    return countsOf(hasLabel ? label : OTHER);
  };
}

function both(one: ExecutionCounts, other: ExecutionCounts): ExecutionCounts {
  const names = Object.keys(one) as readonly (keyof ExecutionCounts)[];
  const entries = names.map((name) => [
    name,
    (value: never): void => {
      one[name](value);
      other[name](value);
    },
  ]);
  return Object.fromEntries(entries);
}

/** The wait may last from milliseconds to hours. */
const WAIT_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600,
];

function executionMetrics(
  prom: typeof import('prom-client'),
  registry: Registry,
  read: () => Promise<readonly Depth[]>,
): CountsFor {
  const registers = [registry];
  const counter = (name: string, help: string, ...labels: readonly string[]): Counter =>
    new prom.Counter({ name, help, labelNames: ['pipeline', ...labels], registers });
  const submitted = counter(
    'holdfast_executions_submitted_total',
    'Executions submitted to this coordinator.',
    'lane',
  );
  const ended = counter(
    'holdfast_executions_ended_total',
    'Executions that workers ended.',
    'status',
  );
  const attempts = 'Attempts of steps, by outcome.';
  const steps = counter('holdfast_steps_total', attempts, 'outcome');
  const claims = counter('holdfast_claims_total', 'Executions that workers claimed.');
  const takeovers = counter(
    'holdfast_takeovers_total',
    'Claims of executions whose worker was lost.',
  );
  const refused = counter(
    'holdfast_writes_refused_total',
    'Writes of workers that the store refused.',
    'verb',
  );
  const waited: Histogram = new prom.Histogram({
    name: 'holdfast_claim_wait_seconds',
    help: 'The time from submit to the first claim, including a requested delay.',
    buckets: WAIT_BUCKETS,
    registers,
  });
  const gauge = (name: string, help: string, of: (depth: Depth) => number): Gauge =>
    new prom.Gauge({
      ...{ name, help, labelNames: ['lane'], registers },
      async collect() {
        // Other metrics report a store outage. The rest must stay readable.
        const depths = await read().catch(() => []);
        for (const depth of depths) this.set({ lane: depth.lane }, of(depth));
      },
    });
  gauge('holdfast_executions_ready', 'Could be claimed now; at most 10000.', ({ ready }) => ready);
  gauge('holdfast_executions_running', 'Claimed now; at most 10000.', ({ running }) => running);
  return (pipeline) => ({
    submitted: (lane) => submitted.inc({ pipeline, lane }),
    claimed: () => claims.inc({ pipeline }),
    waited: (ms) => waited.observe(ms / 1_000),
    takenOver: () => takeovers.inc({ pipeline }),
    step: (outcome) => steps.inc({ pipeline, outcome }),
    ended: (status) => ended.inc({ pipeline, status }),
    refused: (verb) => refused.inc({ pipeline, verb }),
  });
}

// A store that counts what passes through it: submissions, claims, writes and refusals. Counting
// costs a few additions.

/** The counts of one pipeline. Other labels have few values: never an id or a project. */
export interface ExecutionCounts {
  submitted(lane: Lane): void;
  /** From the submission to the first claim. */
  waited(ms: number): void;
  claimed(): void;
  takenOver(): void;
  step(outcome: 'completed' | 'retried' | 'failed'): void;
  ended(status: TerminalStatus): void;
  refused(verb: string): void;
}

/** For one project, or for all if the project is unknown. */
export type CountsOf = (
  project: ProjectName | undefined,
  pipeline: PipelineName | undefined,
) => ExecutionCounts;

export function countedStore(store: CoordinatorStore, countsOf: CountsOf): CoordinatorStore {
  const { executions } = store;
  return { ...store, executions: { ...executions, ...countedVerbs(executions, countsOf) } };
}

type Counted = Pick<ExecutionStore, 'submit' | 'claim' | 'record' | 'finish' | 'park' | 'giveBack'>;

function countedVerbs(executions: ExecutionStore, countsOf: CountsOf): Counted {
  const claimed = new ClaimedPipelines();
  const written = <Result extends { readonly kind: string }>(
    verb: string,
    write: OwnerWrite,
    result: Result,
  ): Result => {
    const { events, children = [], project } = write;
    const counts = countsOf(project, claimed.of(write));
    if (result.kind === 'refused') {
      counts.refused(verb);
      return result;
    }
    for (const event of events) noteStep(event, counts);
    for (const child of children) countsOf(child.project, child.pipeline).submitted(child.lane);
    return result;
  };
  return {
    async submit(request) {
      const result = await executions.submit(request);
      if (result.kind !== 'refused' && !result.existing) {
        countsOf(request.project, request.pipeline).submitted(request.lane);
      }
      return result;
    },
    async claim(request) {
      const result = await executions.claim(request);
      if (result.kind === 'claimed') {
        for (const each of result.claims) {
          const { project, pipeline } = each.execution;
          claimed.note(each.execution);
          noteClaim(each, countsOf(project, pipeline));
        }
      }
      return result;
    },
    record: async (request) => written('record', request, await executions.record(request)),
    async finish(request) {
      const result = written('finish', request, await executions.finish(request));
      if (result.kind !== 'finished') return result;
      countsOf(request.project, claimed.of(request)).ended(request.status);
      claimed.forget(request);
      return result;
    },
    async park(request) {
      const result = written('park', request, await executions.park(request));
      if (result.kind === 'parked') claimed.forget(request);
      return result;
    },
    async giveBack(request) {
      const result = written('giveBack', request, await executions.giveBack(request));
      if (result.kind === 'given-back') claimed.forget(request);
      return result;
    },
  };
}

/** The limit for one project; the oldest claims are forgotten first. */
const CLAIMED_MAX = 10_000;

/**
 * Remembers the pipelines of claimed executions: a write does not name its pipeline, and a lookup
 * would cost a query.
 */
class ClaimedPipelines {
  readonly #ofProject: Map<ProjectName, Map<ExecutionId, PipelineName>> = new Map();

  note({ id, project, pipeline }: ExecutionRecord): void {
    const claimed = this.#ofProject.get(project) ?? new Map<ExecutionId, PipelineName>();
    this.#ofProject.set(project, claimed);
    claimed.set(id, pipeline);
    const [first] = claimed.keys();
    if (claimed.size > CLAIMED_MAX && first !== undefined) claimed.delete(first);
  }

  of({ id, project }: OwnerWrite): PipelineName | undefined {
    return project === undefined ? undefined : this.#ofProject.get(project)?.get(id);
  }

  forget({ id, project }: OwnerWrite): void {
    if (project !== undefined) this.#ofProject.get(project)?.delete(id);
  }
}

function noteClaim({ previous, execution, claimedAt }: Claimed, counts: ExecutionCounts): void {
  counts.claimed();
  if (previous === 'lost') counts.takenOver();
  if (previous === 'none') counts.waited(Math.max(0, claimedAt - execution.submittedAt));
}

function noteStep({ kind, body }: NewEvent, counts: ExecutionCounts): void {
  if (kind === 'step-completed') counts.step('completed');
  if (kind !== 'step-failed') return;
  // The event is committed, so reading it must not throw.
  const { retryInMs } = parseBody<{ readonly retryInMs: number }>(body);
  counts.step(retryInMs === undefined ? 'failed' : 'retried');
}
