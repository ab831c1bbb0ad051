// What changed between two contracts of one pipeline, and what of it breaks somebody. Pure.
//
//   RE-2  A change breaks when somebody who kept to the old contract may be refused by the new one, or be given
//         what the old one never gave: callers and recorded inputs, answerers, readers of outputs, hosts of
//         remote steps. What cannot be told breaks.

import { type Contract, type ContractSchema, canonicalJson, type Json } from './contract-model.ts';
import { diffSchemas, type SchemaEffect } from './schema-diff-decide.ts';

export interface ContractChange {
  /** `input`, `output`, `await:approve`, `remote-step:charge`, `retry`, `checkpoint`, `pipeline`. */
  readonly part: string;
  /** Inside of it; empty for all of it. */
  readonly path: string;
  readonly breaking: boolean;
  /** For people. */
  readonly what: string;
}

/** What comes in may only be let in more freely, what goes out may only become less. */
type Direction = 'in' | 'out';

const BREAKS: Readonly<Record<Direction, ReadonlySet<SchemaEffect>>> = {
  in: new Set<SchemaEffect>(['narrower', 'changed']),
  out: new Set<SchemaEffect>(['wider', 'changed']),
};

export function diffContracts(before: Contract, after: Contract): readonly ContractChange[] {
  return [
    ...(before.pipeline === after.pipeline ? [] : [otherPipeline(before, after)]),
    ...schemaChanges('input', [before.input, after.input], 'in'),
    ...schemaChanges('output', [before.output, after.output], 'out'),
    ...awaitChanges(before, after),
    ...remoteStepChanges(before, after),
    ...policyChange('retry', before.retry, after.retry),
    ...policyChange('checkpoint', before.checkpoint, after.checkpoint),
  ];
}

export function isBreaking(changes: readonly ContractChange[]): boolean {
  return changes.some(({ breaking }) => breaking);
}

function otherPipeline(before: Contract, after: Contract): ContractChange {
  const what = `these are two pipelines: "${before.pipeline}" and "${after.pipeline}"`;
  return { part: 'pipeline', path: '', breaking: true, what };
}

function schemaChanges(
  part: string,
  [before, after]: readonly [ContractSchema, ContractSchema],
  direction: Direction,
): readonly ContractChange[] {
  return diffSchemas(before, after).map(({ path, effect, what }) => ({
    ...{ part, path, what: `${what} (${effect})` },
    breaking: BREAKS[direction].has(effect),
  }));
}

function awaitChanges(before: Contract, after: Contract): readonly ContractChange[] {
  return pairs(before.awaits, after.awaits).flatMap(
    ({ name, old, next }): readonly ContractChange[] => {
      const part = `await:${name}`;
      if (old === undefined) return [{ part, path: '', breaking: false, what: 'is asked now' }];
      if (next === undefined) {
        const what = 'is not asked any more: answers that are under way find nobody';
        return [{ part, path: '', breaking: true, what }];
      }
      const projected: readonly ContractChange[] =
        old.projected === next.projected
          ? []
          : [
              {
                part,
                path: '',
                breaking: false,
                what: `is ${next.projected ? '' : 'not '}projected now`,
              },
            ];
      return [...schemaChanges(part, [old.answer, next.answer], 'in'), ...projected];
    },
  );
}

/** Seen from their hosts, who must go on being able to do what they are asked. */
function remoteStepChanges(before: Contract, after: Contract): readonly ContractChange[] {
  return pairs(before.remoteSteps, after.remoteSteps).flatMap(
    ({ name, old, next }): readonly ContractChange[] => {
      const part = `remote-step:${name}`;
      if (old === undefined) {
        return [{ part, path: '', breaking: true, what: 'is called now: somebody must host it' }];
      }
      if (next === undefined) {
        return [{ part, path: '', breaking: false, what: 'is not called any more' }];
      }
      return [
        ...schemaChanges(`${part}:input`, [old.input, next.input], 'out'),
        ...schemaChanges(`${part}:output`, [old.output, next.output], 'in'),
      ];
    },
  );
}

function policyChange(part: string, before: Json, after: Json): readonly ContractChange[] {
  const [old, next] = [canonicalJson(before), canonicalJson(after)];
  return old === next ? [] : [{ part, path: '', breaking: false, what: `${old} → ${next}` }];
}

interface Pair<Item> {
  readonly name: string;
  readonly old: Item | undefined;
  readonly next: Item | undefined;
}

function pairs<Item extends { readonly name: string }>(
  before: readonly Item[],
  after: readonly Item[],
): readonly Pair<Item>[] {
  const names = new Set([...before, ...after].map(({ name }) => name));
  return [...names].sort().map((name) => ({
    name,
    old: before.find((each) => each.name === name),
    next: after.find((each) => each.name === name),
  }));
}
