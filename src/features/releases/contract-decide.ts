// Compares two contracts of one pipeline and decides which changes break a party. Pure.
//
// RE-2  A change breaks if the new contract may refuse a party that kept to the old one. It also
// breaks if it gives a party values that the old one never gave. Parties are callers and recorded
// inputs, answerers, readers of outputs, and hosts of remote steps. A change that cannot be judged
// counts as breaking.

import { wordsIn } from '../../support/options.ts';
import { type Contract, type ContractSchema, canonicalJson, type Json } from './contract-model.ts';

/** One change between two contracts. */
export interface ContractChange {
  /**
   * The part: `input`, `output`, `await:approve`, `remote-step:charge`, `retry`, `checkpoint` or
   * `pipeline`.
   */
  readonly part: string;
  /** The path within the part. Empty for all of it. */
  readonly path: string;
  /** True if it may break callers, answerers, readers of outputs or recorded executions. */
  readonly breaking: boolean;
  /** The change, for people. */
  readonly what: string;
}

/** Inputs may only become more permissive, outputs only more restricted. */
type Direction = 'in' | 'out';

const BREAKS: Readonly<Record<Direction, ReadonlySet<SchemaEffect>>> = {
  in: new Set<SchemaEffect>(['narrower', 'changed']),
  out: new Set<SchemaEffect>(['wider', 'changed']),
};

/**
 * Returns the changes between two contracts of a pipeline, and which of them are breaking.
 *
 * @example
 * const [newest, before] = await holdfast.releases.list('order');
 * if (newest !== undefined && before !== undefined) {
 *   const breaking = diffContracts(before.contract, newest.contract).filter((change) => change.breaking);
 *   console.log(breaking.map(({ part, what }) => `${part}: ${what}`));
 * }
 */
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
      if (old === undefined)
        return [{ part, path: '', breaking: false, what: 'is a new question' }];
      if (next === undefined) {
        const what = 'is no longer asked: answers on their way find no question';
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

/** From the view of the hosts, who must still be able to do what the pipeline asks. */
function remoteStepChanges(before: Contract, after: Contract): readonly ContractChange[] {
  return pairs(before.remoteSteps, after.remoteSteps).flatMap(
    ({ name, old, next }): readonly ContractChange[] => {
      const part = `remote-step:${name}`;
      if (old === undefined) {
        return [
          { part, path: '', breaking: true, what: 'is a new remote step: a worker must host it' },
        ];
      }
      if (next === undefined) {
        return [{ part, path: '', breaking: false, what: 'is no longer called' }];
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
  const byName = (items: readonly Item[]): ReadonlyMap<string, Item> =>
    new Map(items.map((each) => [each.name, each]));
  const [old, next] = [byName(before), byName(after)];
  const names = new Set([...old.keys(), ...next.keys()]);
  return [...names].sort().map((name) => ({ name, old: old.get(name), next: next.get(name) }));
}

// Compares two JSON Schemas. For each place that differs, decides whether it accepts more than
// before, or less. Pure. A difference that it does not understand is `changed`, which counts as
// both.

type SchemaEffect = 'wider' | 'narrower' | 'changed';

interface SchemaChange {
  /** From the root: `.items[].price`; empty for the root itself. */
  readonly path: string;
  readonly effect: SchemaEffect;
  /** For people. */
  readonly what: string;
}

type Node = { readonly [name: string]: Json };

/** Larger lower bounds accept less; larger upper bounds accept more. */
const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const STRUCTURE = wordsIn('type enum const properties required additionalProperties items');
/** Keywords that do not affect which values are valid. */
const WORDS = ['$schema', '$id', 'title', 'description', 'examples', 'default', '$comment'];

export function diffSchemas(
  before: ContractSchema,
  after: ContractSchema,
): readonly SchemaChange[] {
  const comparing = new Comparison();
  const found = comparing.diff(before as Json, after as Json, '');
  return comparing.isCut ? [...found, LEFT] : found;
}

/** The most places to compare. Some schemas make the comparison repeat itself without end. */
const PLACES_MAX = 10_000;
/** The most characters of a property's name in a path, because many paths may contain it. */
const NAME_MAX = 256;

const LEFT: SchemaChange = {
  path: '',
  effect: 'changed',
  what: `the schemas have more than ${PLACES_MAX} places; the rest was not compared`,
};

class Comparison {
  readonly #texts: WeakMap<object, string> = new WeakMap();
  #places = 0;

  get isCut(): boolean {
    return this.#places >= PLACES_MAX;
  }

  diff(before: Json, after: Json, path: string): readonly SchemaChange[] {
    if (this.isCut) return [];
    this.#places += 1;
    if (this.#textOf(before) === this.#textOf(after)) return [];
    if (before === true) return [{ path, effect: 'narrower', what: onlyNow(after) }];
    if (after === true) return [{ path, effect: 'wider', what: 'takes anything now' }];
    if (before === false) return [{ path, effect: 'wider', what: 'is allowed now' }];
    if (after === false) {
      return [{ path, effect: 'narrower', what: 'is no longer allowed' }];
    }
    if (!isNode(before) || !isNode(after)) {
      return [{ path, effect: 'changed', what: 'is not a JSON Schema' }];
    }
    return [
      ...typeChanges(before, after, path),
      ...valueChanges(before, after, path),
      ...boundChanges(before, after, path),
      ...this.#propertyChanges(before, after, path),
      ...this.diff(before['items'] ?? true, after['items'] ?? true, `${path}[]`),
      ...otherChanges(before, after, path),
    ];
  }

  #propertyChanges(before: Node, after: Node, path: string): readonly SchemaChange[] {
    const [old, next] = [nodesOf(before['properties']), nodesOf(after['properties'])];
    const [was, is] = [namesIn(before['required']), namesIn(after['required'])];
    const [hadRest, hasRest] = [restOf(before), restOf(after)];
    const changes = [...this.diff(hadRest, hasRest, `${path}.*`)];
    const names = [...new Set([...old.keys(), ...next.keys(), ...was, ...is])].sort();
    for (const name of names) {
      if (this.isCut) break;
      const at = `${path}.${name.slice(0, NAME_MAX)}`;
      // An unlisted property belongs to the rest.
      const of = (nodes: typeof old, rest: Json): Json =>
        nodes.has(name) ? (nodes.get(name) as Json) : rest;
      changes.push(...this.diff(of(old, hadRest), of(next, hasRest), at));
      changes.push(...requiredChange(was.has(name), is.has(name), at));
    }
    return changes;
  }

  /** Caches the text, because one schema may be compared with many. */
  #textOf(value: Json): string {
    if (typeof value !== 'object' || value === null) return canonicalJson(value);
    const text = this.#texts.get(value) ?? canonicalJson(value);
    this.#texts.set(value, text);
    return text;
  }
}

/** For a place that had no schema before, perhaps because it was not listed. */
function onlyNow(after: Json): string {
  if (after === false) return 'was allowed with any value, and is no longer allowed';
  const types = isNode(after) ? (typesOf(after) ?? []) : [];
  const now = types.length === 0 ? 'as its schema defines' : types.join(' or ');
  return `could have any value or be absent; if present, it must now be ${now}`;
}

function isNode(value: Json): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeChanges(before: Node, after: Node, path: string): readonly SchemaChange[] {
  const [old, next] = [typesOf(before), typesOf(after)];
  if (old === undefined && next === undefined) return [];
  if (old === undefined)
    return [{ path, effect: 'narrower', what: `must be ${next?.join(' or ')}` }];
  if (next === undefined) return [{ path, effect: 'wider', what: 'may be of any type' }];
  return setChange(old, next, { path, thing: 'type' });
}

/** `number` accepts integers too. */
function typesOf({ type }: Node): readonly string[] | undefined {
  if (type === undefined) return undefined;
  const types = [type].flat() as readonly string[];
  return types.includes('number') && !types.includes('integer') ? [...types, 'integer'] : types;
}

function valueChanges(before: Node, after: Node, path: string): readonly SchemaChange[] {
  const [old, next] = [valuesOf(before), valuesOf(after)];
  if (old === undefined && next === undefined) return [];
  if (old === undefined) {
    return [{ path, effect: 'narrower', what: `must be one of ${next?.join(', ')}` }];
  }
  if (next === undefined)
    return [{ path, effect: 'wider', what: 'may be more than the values listed' }];
  return setChange(old, next, { path, thing: 'value' });
}

function valuesOf(node: Node): readonly string[] | undefined {
  if (node['const'] !== undefined) return [canonicalJson(node['const'])];
  const values = node['enum'];
  return Array.isArray(values) ? values.map(canonicalJson) : undefined;
}

function setChange(
  before: readonly string[],
  after: readonly string[],
  { path, thing }: { readonly path: string; readonly thing: string },
): readonly SchemaChange[] {
  const [old, next] = [new Set(before), new Set(after)];
  const gone = before.filter((each) => !next.has(each));
  const fresh = after.filter((each) => !old.has(each));
  return [
    ...(gone.length === 0
      ? []
      : [{ path, effect: 'narrower' as const, what: `${thing} ${gone.join(', ')} is gone` }]),
    ...(fresh.length === 0
      ? []
      : [{ path, effect: 'wider' as const, what: `${thing} ${fresh.join(', ')} is new` }]),
  ];
}

function boundChanges(before: Node, after: Node, path: string): readonly SchemaChange[] {
  return [
    ...LOWER_BOUNDS.flatMap((name) => boundChange(name, before, { after, path, less: 1 })),
    ...UPPER_BOUNDS.flatMap((name) => boundChange(name, before, { after, path, less: -1 })),
  ];
}

function boundChange(
  name: string,
  before: Node,
  { after, path, less }: { readonly after: Node; readonly path: string; readonly less: 1 | -1 },
): readonly SchemaChange[] {
  const [old, next] = [before[name], after[name]];
  if (old === next) return [];
  const what = `${name} ${old ?? 'none'} → ${next ?? 'none'}`;
  if (next === undefined) return [{ path, effect: 'wider', what }];
  if (old === undefined) return [{ path, effect: 'narrower', what }];
  const isLess = (Number(next) - Number(old)) * less > 0;
  return [{ path, effect: isLess ? 'narrower' : 'wider', what }];
}

function requiredChange(was: boolean, is: boolean, path: string): readonly SchemaChange[] {
  if (was === is) return [];
  return is
    ? [{ path, effect: 'narrower', what: 'must be there' }]
    : [{ path, effect: 'wider', what: 'need not be there' }];
}

function nodesOf(value: Json | undefined): ReadonlyMap<string, Json> {
  return new Map(value !== undefined && isNode(value) ? Object.entries(value) : []);
}

function namesIn(value: Json | undefined): ReadonlySet<string> {
  return new Set(Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []);
}

function restOf(node: Node): Json {
  return node['additionalProperties'] ?? true;
}

/**
 * Unions, patterns, references and library extensions: they differ, and this code cannot compare
 * them further.
 */
function otherChanges(before: Node, after: Node, path: string): readonly SchemaChange[] {
  const known = new Set([...STRUCTURE, ...LOWER_BOUNDS, ...UPPER_BOUNDS, ...WORDS]);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .filter((name) => !known.has(name))
    .filter((name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null))
    .map((name) => ({ path, effect: otherEffect(name, before, after), what: `${name} differs` }));
}

function otherEffect(name: string, before: Node, after: Node): SchemaEffect {
  if (name !== 'anyOf' && name !== 'oneOf') return 'changed';
  const [old, next] = [before[name], after[name]].map((each) =>
    Array.isArray(each) ? each.map(canonicalJson) : undefined,
  );
  if (old === undefined || next === undefined) return 'changed';
  const [was, is] = [new Set(old), new Set(next)];
  if (old.every((each) => is.has(each))) return 'wider';
  return next.every((each) => was.has(each)) ? 'narrower' : 'changed';
}
