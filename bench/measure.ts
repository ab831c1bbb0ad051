// How the suites measure. Machines are noisy and drift. So contestants take turns within one run, and
// each ratio compares figures of the same round. The report has the median of the rounds.

export interface Contestant {
  /** How many operations run at the same time. */
  readonly inFlight: number;
  /** One operation of one of the `inFlight` workers. It must throw if it did not have its effect. */
  operation(worker: number): unknown;
}

export interface Pace {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
}

export interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * Runs the contestants in turn, round after round; every second round in reverse. Returns the rounds of
 * each contestant, in the order of `contestants`.
 */
export async function alternate(
  contestants: readonly Contestant[],
  pace: Pace,
): Promise<readonly (readonly Round[])[]> {
  const rounds = contestants.map((): Round[] => []);
  for (const contestant of contestants) {
    await drive(contestant, pace.warmUpMs);
  }
  for (let round = 0; round < pace.rounds; round += 1) {
    const turns = contestants.map((contestant, index) => ({ contestant, index }));
    for (const { contestant, index } of round % 2 === 0 ? turns : turns.reverse()) {
      rounds[index]?.push(await drive(contestant, pace.roundMs));
    }
  }
  return rounds;
}

export function medianRound(rounds: readonly Round[]): Round {
  return {
    perSecond: median(rounds.map((round) => round.perSecond)),
    p50Ms: median(rounds.map((round) => round.p50Ms)),
    p99Ms: median(rounds.map((round) => round.p99Ms)),
  };
}

/** The median of `ratios`. */
export function medianRatio(rounds: readonly Round[], reference: readonly Round[]): number {
  return median(ratios(rounds, reference));
}

/** The ratio of the rates in each round. */
export function ratios(rounds: readonly Round[], reference: readonly Round[]): readonly number[] {
  return pairs(rounds, reference).map(([round, beside]) => round.perSecond / beside.perSecond);
}

/** The ratio of the median latencies in each round. */
export function slowdowns(
  rounds: readonly Round[],
  reference: readonly Round[],
): readonly number[] {
  return pairs(rounds, reference).map(([round, beside]) => round.p50Ms / beside.p50Ms);
}

/** The median of `slowdowns`. With one operation in flight, it is less noisy than `medianRatio`. */
export function medianSlowdown(rounds: readonly Round[], reference: readonly Round[]): number {
  return median(slowdowns(rounds, reference));
}

function pairs(
  rounds: readonly Round[],
  reference: readonly Round[],
): readonly (readonly [Round, Round])[] {
  return rounds.flatMap((round, index) => {
    const beside = reference[index];
    return beside === undefined ? [] : [[round, beside] as const];
  });
}

/** Keeps `inFlight` operations running until the time is over, then waits for the last ones. */
export async function drive({ inFlight, operation }: Contestant, forMs: number): Promise<Round> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const until = startedAt + forMs;
  const work = async (worker: number): Promise<void> => {
    for (let before = startedAt; before < until; ) {
      await operation(worker);
      const after = performance.now();
      latencies.push(after - before);
      before = after;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, worker) => work(worker)));
  return roundOf(latencies, performance.now() - startedAt);
}

export function roundOf(latenciesMs: readonly number[], elapsedMs: number): Round {
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    perSecond: (sorted.length / elapsedMs) * 1_000,
    p50Ms: percentile(sorted, 50),
    p99Ms: percentile(sorted, 99),
  };
}

/** Nearest rank: returns a measured value, without interpolation. */
function percentile(sorted: Float64Array, percent: number): number {
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
