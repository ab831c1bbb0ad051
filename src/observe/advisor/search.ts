// The cheapest settings that keep every limit, by looking at all of them: a few hundred candidates.

import { type Candidate, type Constraint, candidate } from './candidate.ts';
import type { Goals } from './goals.ts';
import type { LeaseModel } from './model.ts';

export type Found =
  | {
      readonly kind: 'found';
      readonly best: Candidate;
      /** The limit without which something cheaper could be had; absent when the prices decide. */
      readonly binding: Constraint | undefined;
      readonly all: readonly Candidate[];
    }
  /** No settings keep all limits: the longest ttl breaks some, every shorter one others. */
  | {
      readonly kind: 'conflict';
      readonly between: readonly Constraint[];
      readonly all: readonly Candidate[];
    };

const TTL_STEP = 1.08;

export function search(model: LeaseModel, goals: Goals): Found {
  const all = ttlGrid(goals).flatMap((ttlMs) =>
    goals.beatsPerTtl.map((beats) => candidate(model, goals, { ttlMs, beats })),
  );
  const best = cheapest(all.filter(({ broken }) => broken.length === 0));
  if (best === undefined) return { kind: 'conflict', between: conflictOf(all), all };
  return { kind: 'found', best, binding: bindingOf(all, best), all };
}

/** From least to most in steps of eight percent, each rounded to two digits. */
function ttlGrid({ ttlMsMin, ttlMsMax }: Goals): readonly number[] {
  const grid = new Set<number>();
  for (let ttlMs = ttlMsMin; ttlMs < ttlMsMax; ttlMs *= TTL_STEP) {
    grid.add(Math.max(ttlMsMin, Number(ttlMs.toPrecision(2))));
  }
  grid.add(ttlMsMax);
  return [...grid];
}

function cheapest(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  for (const each of candidates) if (best === undefined || each.cost < best.cost) best = each;
  return best;
}

/** Which one limit, if it were lifted, would let the most be saved. */
function bindingOf(all: readonly Candidate[], best: Candidate): Constraint | undefined {
  const saving = new Map<Constraint, number>();
  for (const { broken, cost } of all) {
    const [only, ...others] = broken;
    if (only === undefined || others.length > 0 || cost >= best.cost) continue;
    saving.set(only, Math.max(saving.get(only) ?? 0, best.cost - cost));
  }
  const [most] = [...saving].sort(([, a], [, b]) => b - a);
  return most?.[0];
}

/** The limits broken by the candidates that break the fewest. */
function conflictOf(all: readonly Candidate[]): readonly Constraint[] {
  const fewest = Math.min(...all.map(({ broken }) => broken.length));
  return [
    ...new Set(
      all.filter(({ broken }) => broken.length === fewest).flatMap(({ broken }) => broken),
    ),
  ];
}
