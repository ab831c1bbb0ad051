// Checks an input against the contracts of the releases that a new execution may be pinned to, before
// anything is written (ADR 0062). Checks the parts of JSON Schema that schema libraries agree on: types,
// properties and listed values. The worker checks everything, with the schema itself.

import type { PipelineName, ProjectName } from '../../execution/names.ts';
import type { Clock } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { shown } from '../../support/options.ts';
import type { ContractSchema } from './contract-model.ts';
import type { ReleaseStore } from './port.ts';

export interface InputTarget {
  readonly project: ProjectName;
  readonly pipeline: string;
  /** Without one, the rollout decides. */
  readonly release?: string;
}

type Reads = Pick<ReleaseStore, 'release' | 'rollout'>;

interface Accepted {
  readonly release: string;
  readonly schema: ContractSchema;
}

/** Throws `InvalidInput` if no release that the execution may be pinned to accepts the input. */
export async function requireInput(
  store: Reads,
  target: InputTarget,
  input: unknown,
): Promise<void> {
  requireAccepted(target, await acceptedBy(store, target), input);
}

function requireAccepted(
  { pipeline }: InputTarget,
  accepted: readonly Accepted[],
  input: unknown,
): void {
  const misfits = accepted.map(({ schema }) => misfitOf(schema, input));
  const [misfit] = misfits;
  if (misfit === undefined || misfits.includes(undefined)) return;
  throw new InvalidInput(
    `The input of "${pipeline}" does not match its contract in release "${accepted[0]?.release}": ${misfit}. Nothing was written. Correct the input, or activate a release that accepts it.`,
  );
}

/** None, if the execution is not pinned: any worker of the pipeline may then run it. */
async function acceptedBy(
  store: Reads,
  { project, pipeline, release }: InputTarget,
): Promise<readonly Accepted[]> {
  const of = { project, pipeline: pipeline as PipelineName };
  const { active, canary } = release === undefined ? await store.rollout(of) : { active: release };
  if (active === undefined) return [];
  const names = [active, ...(canary === undefined ? [] : [canary])];
  const found = await Promise.all(names.map((name) => store.release({ ...of, name })));
  return found.flatMap((each) =>
    each === undefined ? [] : { release: each.name, schema: each.contract.input },
  );
}

const READ_MS = 1_000;
const TARGETS_MAX = 1_000;

/** The same check for many submissions: it reads the contracts of a pipeline at most once a second. */
export class InputContracts {
  readonly #store: Reads;
  readonly #clock: Clock;
  readonly #read: Map<string, { readonly at: number; readonly accepted: readonly Accepted[] }> =
    new Map();

  constructor(store: Reads, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async require(target: InputTarget, input: unknown): Promise<void> {
    if (input === undefined) return;
    const key = JSON.stringify([target.project, target.pipeline, target.release]);
    const now = this.#clock.monotonicMs();
    const read = this.#read.get(key);
    const isRecent = read !== undefined && now - read.at < READ_MS;
    if (isRecent && isAccepted(read.accepted, input)) return;
    // A refusal needs contracts that are read now: a release may just have been activated.
    const accepted = await acceptedBy(this.#store, target);
    if (this.#read.size >= TARGETS_MAX) this.#read.clear();
    this.#read.set(key, { at: now, accepted });
    requireAccepted(target, accepted, input);
  }
}

function isAccepted(accepted: readonly Accepted[], input: unknown): boolean {
  return (
    accepted.length === 0 || accepted.some(({ schema }) => misfitOf(schema, input) === undefined)
  );
}

/** The parts of JSON Schema that are checked. A schema without them accepts any value. */
interface Node {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly unknown[];
  readonly oneOf?: readonly unknown[];
  readonly allOf?: readonly unknown[];
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly patternProperties?: unknown;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
  readonly prefixItems?: unknown;
  readonly items?: unknown;
}

/** Bound the work: references can make a schema repeat itself without end. */
const PLACES_MAX = 10_000;
const DEPTH_MAX = 100;

/** Where the value does not fit the schema, and why; undefined if it may fit. */
export function misfitOf(schema: ContractSchema, value: unknown): string | undefined {
  return value === undefined ? undefined : new Check(schema).misfit(schema, value, '');
}

class Check {
  readonly #root: unknown;
  #places = 0;
  #depth = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  misfit(schema: unknown, value: unknown, path: string): string | undefined {
    if (!isObject(schema) || !isJson(value)) return undefined;
    const node = schema as Node;
    if (node.nullable === true && value === null) return undefined;
    this.#places += 1;
    if (this.#places > PLACES_MAX || this.#depth === DEPTH_MAX) return undefined;
    this.#depth += 1;
    const found =
      valueMisfit(node, value, path) ??
      this.#formMisfit(node, value, path) ??
      (Array.isArray(value) ? this.#itemMisfit(node, value, path) : undefined) ??
      (isObject(value) ? this.#propertyMisfit(node, value, path) : undefined);
    this.#depth -= 1;
    return found;
  }

  #formMisfit(node: Node, value: unknown, path: string): string | undefined {
    const { $ref, allOf, anyOf = node.oneOf } = node;
    const target = typeof $ref === 'string' ? this.#resolve($ref) : undefined;
    for (const each of [target, ...listOf(allOf)]) {
      const misfit = this.misfit(each, value, path);
      if (misfit !== undefined) return misfit;
    }
    const misfits = listOf(anyOf).map((each) => this.misfit(each, value, path));
    return misfits.includes(undefined) ? undefined : misfits[0];
  }

  #itemMisfit(node: Node, value: readonly unknown[], path: string): string | undefined {
    if (node.prefixItems !== undefined) return undefined;
    return first(value.entries(), ([at, each]) => this.misfit(node.items, each, `${path}[${at}]`));
  }

  #propertyMisfit(
    { required, properties = {}, patternProperties, additionalProperties: others }: Node,
    value: Readonly<Record<string, unknown>>,
    path: string,
  ): string | undefined {
    const missing = listOf(required).find((name) => !Object.hasOwn(value, String(name)));
    if (missing !== undefined) return `${placeText(joined(path, String(missing)))} is required`;
    return first(Object.entries(value), ([name, each]) => {
      const at = joined(path, name);
      if (Object.hasOwn(properties, name)) return this.misfit(properties[name], each, at);
      if (patternProperties !== undefined) return undefined;
      return others === false ? `${placeText(at)} is unknown` : this.misfit(others, each, at);
    });
  }

  /** Undefined for a reference to elsewhere, which accepts any value. */
  #resolve(ref: string): unknown {
    if (!ref.startsWith('#')) return undefined;
    const names = ref.split('/').slice(1);
    return names.reduce<unknown>((node, name) => {
      const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
      return isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
    }, this.#root);
  }
}

function valueMisfit(
  { type, enum: values, ...node }: Node,
  value: unknown,
  path: string,
): string | undefined {
  const types = [type ?? []].flat();
  if (types.length > 0 && !types.some((each) => TYPES[each]?.(value) ?? true)) {
    return `${placeText(path)} must be ${types.join(' or ')}; got ${shown(value)}`;
  }
  const listed = values ?? ('const' in node ? [node.const] : undefined);
  // Objects and lists are equal by content, which only the worker compares.
  if (!Array.isArray(listed) || listed.some((each) => typeof each === 'object' && each !== null)) {
    return undefined;
  }
  if (listed.includes(value)) return undefined;
  return `${placeText(path)} must be ${listed.map((each) => JSON.stringify(each)).join(' or ')}; got ${shown(value)}`;
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  integer: Number.isInteger,
  null: (value) => value === null,
  ...{ string: isA('string'), number: isA('number'), boolean: isA('boolean') },
};

function isA(name: string): (value: unknown) => boolean {
  return (value) => typeof value === name;
}

/** False for dates, maps and other values that JSON Schema cannot describe. */
function isJson(value: unknown): boolean {
  const isScalar = value === null || ['string', 'number', 'boolean'].includes(typeof value);
  return isScalar || Array.isArray(value) || isObject(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function listOf<Item>(value: readonly Item[] | undefined): readonly Item[] {
  return Array.isArray(value) ? value : [];
}

function first<Item>(
  items: Iterable<Item>,
  misfit: (item: Item) => string | undefined,
): string | undefined {
  for (const each of items) {
    const found = misfit(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function placeText(path: string): string {
  return path === '' ? 'it' : `"${path}"`;
}
