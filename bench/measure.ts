// How anything is measured here. Machines are noisy and drift, so what is to be compared runs in
// turns within one run, and only ratios taken within one round are compared. What is reported is
// the median of the rounds.

export interface Contestant {
  /** How many operations are under way at any time. */
  readonly inFlight: number;
  /** One operation by one of the `inFlight` workers. It must throw unless it did what it measures. */
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

/** One after the other, round after round, each second round backwards. Answers in their order. */
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

/** The median of the rates' ratios, each taken within one round. */
export function medianRatio(rounds: readonly Round[], reference: readonly Round[]): number {
  return median(ratios(rounds, reference));
}

/** Of the rates, round by round. */
export function ratios(rounds: readonly Round[], reference: readonly Round[]): readonly number[] {
  return pairs(rounds, reference).map(([round, beside]) => round.perSecond / beside.perSecond);
}

/** Of the typical latencies, round by round. */
export function slowdowns(
  rounds: readonly Round[],
  reference: readonly Round[],
): readonly number[] {
  return pairs(rounds, reference).map(([round, beside]) => round.p50Ms / beside.p50Ms);
}

/** The same by typical latency: with one in flight, pauses of the machine do not blur it. */
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

/** Keeps `inFlight` operations under way until the time is up, and lets the last ones end. */
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

/** By nearest rank: a value that was measured, never one in between. */
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
