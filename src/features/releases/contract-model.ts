// Contracts
//
// A contract describes what crosses the boundary of one pipeline. It has the input, the output, the
// questions, the remote steps that the pipeline calls, and the policies that people rely on. Its
// version is the digest of its canonical form. Two builds with the same content have the same
// contract, whenever they were built.
//
// RE-1  The version covers everything in the contract, in one order, and nothing else.

import { digestOf } from '../../support/digest.ts';
import { InvalidInput } from '../../support/fault.ts';
import { isDeeperThan } from '../../support/json-size.ts';
import { shown, unreadable, wordsIn } from '../../support/options.ts';

/** The version of the form below. Contracts of different formats are not compared. */
export const CONTRACT_FORMAT = 1;

/** A JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

/**
 * A JSON Schema; `true` if any value is accepted; `opaque` if the schema library cannot describe
 * it.
 */
export type ContractSchema = true | { readonly opaque: string } | { readonly [name: string]: Json };

type ContractQuestion = {
  readonly name: string;
  readonly answer: ContractSchema;
  /** Code derives the value that the pipeline gets from the answer. */
  readonly projected: boolean;
};

type ContractRemoteStep = {
  readonly name: string;
  readonly input: ContractSchema;
  readonly output: ContractSchema;
};

/** The interface of a pipeline: its inputs, outputs, questions, remote steps and policies. */
export type Contract = {
  /** The version of this format. */
  readonly format: typeof CONTRACT_FORMAT;
  /** The name of the pipeline. */
  readonly pipeline: string;
  /** The schema of the input. */
  readonly input: ContractSchema;
  /** The schema of the output. */
  readonly output: ContractSchema;
  /** The declared questions, by name. */
  readonly awaits: readonly ContractQuestion[];
  /** The remote steps that it calls, by name. */
  readonly remoteSteps: readonly ContractRemoteStep[];
  /** The retry policy. */
  readonly retry: { readonly [name: string]: Json };
  /** The checkpoint policy. */
  readonly checkpoint: { readonly [name: string]: Json };
};

/**
 * Returns the version of a contract: the SHA-256 digest of its canonical form, in hexadecimal.
 *
 * @example
 * const [release] = await holdfast.releases.list('order');
 * if (release !== undefined) console.log(contractVersion(release.contract));
 */
export function contractVersion(contract: Contract): string {
  return digestOf(Buffer.from(canonicalJson(contract)));
}

/** One text for one value: sorted names, no spaces. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(inOrder(value));
}

/** The same, for people and for version control. */
export function readableJson(value: Json): string {
  return `${JSON.stringify(inOrder(value), undefined, 2)}\n`;
}

function inOrder(value: Json): Json {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, inOrder(each)]));
}

const PARTS: readonly (keyof Contract)[] = wordsIn(
  'format pipeline input output awaits remoteSteps retry checkpoint',
);

/** Parses a contract from a file or from the wire. */
export function parseContract(what: string, value: unknown): Contract {
  const given = copyOf(what, value);
  const missing = PARTS.filter((part) => given[part] === undefined);
  if (missing.length > 0) {
    throw new InvalidInput(
      `${what} is not a contract: it lacks ${missing.join(', ')}. Build one: holdfast contract build <module>.`,
    );
  }
  if (given.format !== CONTRACT_FORMAT) {
    throw new InvalidInput(
      `${what} has format ${shown(given.format)}, and this version reads ${CONTRACT_FORMAT}. Build it again: holdfast contract build <module>.`,
    );
  }
  if (typeof given.pipeline !== 'string' || !isList(given.awaits) || !isList(given.remoteSteps)) {
    throw new InvalidInput(
      `${what} is not a contract: pipeline must be a name, awaits and remoteSteps must be lists.`,
    );
  }
  requireSchemas(what, given as Contract);
  const { format, pipeline, input, output, ...rest } = given as Contract;
  const { awaits, remoteSteps, retry, checkpoint } = rest;
  return { format, pipeline, input, output, awaits, remoteSteps, retry, checkpoint };
}

/** The comparison reads these as JSON Schema, so each must be one at its root. */
function requireSchemas(what: string, { input, output, awaits, remoteSteps }: Contract): void {
  const schemas: readonly (readonly [string, unknown])[] = [
    ['input', input],
    ['output', output],
    ...awaits.map(({ name, answer }) => [`The answer to "${name}"`, answer] as const),
    ...remoteSteps.flatMap((step) => [
      [`The input of step "${step.name}"`, step.input] as const,
      [`The output of step "${step.name}"`, step.output] as const,
    ]),
  ];
  const wrong = schemas.find(([, each]) => each !== true && !isObject(each));
  if (wrong === undefined) return;
  const [name, found] = wrong;
  throw new InvalidInput(
    `${what} is not a contract: ${name} must be a JSON Schema, or true; got ${shown(found)}.`,
  );
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Copies the value, so that the checked content is the used content even if the caller's object has
 * getters.
 */
function copyOf(what: string, value: unknown): Partial<Contract> {
  try {
    const text = JSON.stringify(value ?? {}) ?? '{}';
    requireFit(what, text);
    const copy: unknown = JSON.parse(text);
    return typeof copy === 'object' && copy !== null ? copy : {};
  } catch (cause) {
    if (cause instanceof InvalidInput) throw cause;
    throw unreadable(what, cause);
  }
}

/** Bounded, because each comparison walks the whole contract. */
const BYTES_MAX = 256 * 1_024;
const DEPTH_MAX = 100;

function requireFit(what: string, text: string): void {
  if (Buffer.byteLength(text) > BYTES_MAX) {
    throw new InvalidInput(`${what} is too large: a contract has at most ${BYTES_MAX} bytes.`);
  }
  if (isDeeperThan(text, DEPTH_MAX)) {
    throw new InvalidInput(
      `${what} is nested too deep: a contract has at most ${DEPTH_MAX} levels.`,
    );
  }
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each?.name === 'string');
}
