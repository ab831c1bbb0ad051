// Circuits of this process. Steps with the same circuit call the same service. After several
// failures in a row the circuit opens, and attempts wait instead of calling. Then one attempt probes.
//
//   closed ── failuresMax in a row within windowMs ──▶ open ── openMs ──▶ half-open: one probe
//      ▲                                                ▲                     │
//      └────────────────── the probe succeeds ──────────┼─────────────────────┤
//                                                       └── the probe fails ──┘

import type { Failure } from '../execution/failure.ts';
import type { ExecutionReport } from '../execution/report.ts';
import type { Clock } from '../support/clock.ts';
import { boundedText, integerOption, readOptions, wordsIn } from '../support/options.ts';
import type { CircuitOptions } from './context.ts';

export interface CircuitPolicy {
  readonly name: string;
  readonly failuresMax: number;
  readonly windowMs: number;
  readonly openMs: number;
}

const NAMES: readonly (keyof CircuitOptions)[] = wordsIn('name failuresMax windowMs openMs');
const NAME_BYTES_MAX = 256;
const DAY_MS = 86_400_000;
const DEFAULTS = Object.freeze({ failuresMax: 5, windowMs: 60_000, openMs: 30_000 });

export function resolveCircuit(given: string | CircuitOptions): CircuitPolicy {
  const options = typeof given === 'string' ? { name: given } : given;
  const policy = { ...DEFAULTS, ...readOptions('circuit', options, NAMES) };
  boundedText('circuit.name', policy.name, NAME_BYTES_MAX);
  integerOption('circuit.failuresMax', policy.failuresMax, { min: 1, max: 1_000 });
  integerOption('circuit.windowMs', policy.windowMs, { min: 1, max: DAY_MS });
  integerOption('circuit.openMs', policy.openMs, { min: 1, max: DAY_MS });
  return policy;
}

/** While a probe runs, other attempts check again after this time. */
const PROBE_PAUSE_MS = 1_000;

/** The attempt did not begin. It does not count as an attempt, because its category is `denied`. */
export class CircuitOpen extends Error {
  override readonly name = 'CircuitOpen';
  readonly code = 'circuit-open';
  readonly category = 'denied';
  readonly retryAfterMs: number;

  constructor({ name }: CircuitPolicy, state: string, retryAfterMs: number) {
    super(`Circuit "${name}" is open: ${state} This attempt did not begin.`);
    this.retryAfterMs = Math.max(1, Math.ceil(retryAfterMs));
  }
}

interface Circuit {
  /** When the failures in a row happened, the oldest first. */
  readonly failures: number[];
  lastFailure: string;
  /** Set while it is open or half-open: no attempt begins before. */
  openUntilMs: number | undefined;
  /** The attempt that probes. */
  probe: object | undefined;
}

/** A circuit, and the project that it is for. */
export interface CircuitPlace {
  readonly project: string;
  readonly policy: CircuitPolicy;
}

interface Parts {
  readonly clock: Clock;
  readonly report: (report: ExecutionReport) => void;
}

export class Circuits {
  readonly #parts: Parts;
  readonly #circuits: Map<string, Circuit> = new Map();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Returns the reason if the attempt must wait. `attempt` identifies it for `ended`. */
  refuse(place: CircuitPlace, attempt: object): CircuitOpen | undefined {
    const { policy } = place;
    const circuit = this.#of(place);
    const { openUntilMs } = circuit;
    if (openUntilMs === undefined) return undefined;
    const leftMs = openUntilMs - this.#parts.clock.monotonicMs();
    if (leftMs > 0) {
      const isProbing = circuit.probe !== undefined;
      const state = isProbing
        ? 'another attempt probes whether the service is back.'
        : `${circuit.failures.length} attempts in a row failed, the last with: ${circuit.lastFailure}`;
      return new CircuitOpen(policy, state, isProbing ? Math.min(leftMs, PROBE_PAUSE_MS) : leftMs);
    }
    circuit.probe = attempt;
    // If the probe does not end, another may begin after this time.
    circuit.openUntilMs = this.#parts.clock.monotonicMs() + policy.openMs;
    return undefined;
  }

  /**
   * `outcome`: the failure of the attempt, `succeeded`, or `dropped` if its outcome is no evidence
   * about the service.
   */
  ended(place: CircuitPlace, attempt: object, outcome: Failure | 'succeeded' | 'dropped'): void {
    const { policy } = place;
    const circuit = this.#of(place);
    const isProbe = circuit.probe === attempt;
    if (isProbe) circuit.probe = undefined;
    const now = this.#parts.clock.monotonicMs();
    if (outcome === 'dropped') {
      if (isProbe) circuit.openUntilMs = now;
      return;
    }
    // The service replied, even if another attempt cannot help.
    if (outcome === 'succeeded' || outcome.category === 'permanent') {
      // An attempt from before the circuit opened proves nothing.
      if (circuit.openUntilMs === undefined || isProbe) this.#circuits.delete(keyOf(place));
      return;
    }
    circuit.lastFailure = outcome.message;
    if (circuit.openUntilMs !== undefined && !isProbe) return;
    circuit.failures.push(now);
    if (circuit.failures.length > policy.failuresMax) circuit.failures.shift();
    const [first = now] = circuit.failures;
    const isFull = circuit.failures.length >= policy.failuresMax && now - first <= policy.windowMs;
    if (!isProbe && !isFull) return;
    circuit.openUntilMs = now + policy.openMs;
    if (!isProbe) this.#reportOpen(policy, circuit);
  }

  #of(place: CircuitPlace): Circuit {
    const key = keyOf(place);
    const known = this.#circuits.get(key) ?? {
      ...{ failures: [], lastFailure: '', openUntilMs: undefined, probe: undefined },
    };
    this.#circuits.set(key, known);
    return known;
  }

  #reportOpen({ name, openMs }: CircuitPolicy, { failures, lastFailure }: Circuit): void {
    this.#parts.report({
      ...{ kind: 'trouble', code: 'circuit-open', cause: lastFailure },
      what: `Circuit "${name}" opened after ${failures.length} failed attempts in a row; steps with it wait, and one tries again after ${openMs} ms`,
    });
  }
}

function keyOf({ project, policy }: CircuitPlace): string {
  return `${project} ${policy.name}`;
}
