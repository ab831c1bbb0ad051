// The contract case that finds each deleted or moved guard, as the last `npm run mutation -- --update` saw it.

import { allMutants, allowedSurvivors } from './examine.ts';
import type { ContractName, MutatedStore } from './mutants.ts';
import { readKillers } from './verdict.ts';

export interface DeletedGuard {
  /** `sqlite/checkpoint.ts:fence`; `<1` at its end stands for a bound that was moved by one. */
  readonly id: string;
  readonly store: MutatedStore;
  readonly contract: ContractName;
  readonly foundBy:
    | { readonly layer: 'contract'; readonly test: string; readonly rules: readonly string[] }
    /** No sequence of calls shows it. */
    | { readonly layer: 'none'; readonly reason: string };
}

const RULE = /\b[A-Z]{1,2}-\d+\b/g;

export function deletedGuards(): readonly DeletedGuard[] {
  const killers = readKillers();
  const survivors = allowedSurvivors();
  return allMutants().map(({ id, store, contract }) => {
    const test = killers[id];
    if (test === undefined) {
      const reason = survivors[id] ?? 'no case is known yet; run `npm run mutation -- --update`.';
      return { id, store, contract, foundBy: { layer: 'none', reason } };
    }
    // A title is `T-4, T-6: the name of the case`.
    const rules = test.split(':', 1)[0]?.match(RULE) ?? [];
    return { id, store, contract, foundBy: { layer: 'contract', test, rules } };
  });
}
