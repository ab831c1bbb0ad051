// Builds the contract of a pipeline from its code.

import type { RetryRule } from '../../engine/context.ts';
import { type AnyPipeline, asPipeline, type CheckpointPolicy } from '../../engine/pipeline.ts';
import { resolveRetry } from '../../engine/retry-options.ts';
import type { Schema } from '../../engine/values/schema.ts';
import {
  CONTRACT_FORMAT,
  type Contract,
  type ContractSchema,
  canonicalJson,
  type Json,
} from './contract-model.ts';

export function contractOf(pipeline: AnyPipeline): Contract {
  const { policy, rules } = resolveRetry(pipeline.retry);
  return {
    format: CONTRACT_FORMAT,
    pipeline: pipeline.name,
    input: schemaOf(pipeline.input, 'input'),
    output: schemaOf(pipeline.output, 'output'),
    awaits: (pipeline.awaits ?? [])
      .map(({ name, schema, project }) => ({
        name,
        answer: schemaOf(schema, 'input'),
        projected: project !== undefined,
      }))
      .sort(byName),
    remoteSteps: (pipeline.remoteSteps ?? [])
      .map(({ name, input, output }) => ({
        name,
        input: schemaOf(input, 'input'),
        output: schemaOf(output, 'output'),
      }))
      .sort(byName),
    retry: { ...policy, rules: rules.map(ruleOf) },
    checkpoint: policyOf(pipeline.checkpoint),
  };
}

/** The pipelines that a module exports, by name. */
export function pipelinesIn(module: object): readonly AnyPipeline[] {
  const found = Object.values(module)
    .flat()
    .flatMap((value) => asPipeline(value) ?? []);
  return [...new Map(found.map((each) => [each.name, each])).values()].sort(byName);
}

/** The digest of a contract must not change, so contracts keep the word `hand` for `manual`. */
function policyOf(policy: CheckpointPolicy): Contract['checkpoint'] {
  return policy.every === 'manual' ? { every: 'hand' } : { ...policy };
}

/** A contract shows that a rule has code, not the code itself. */
function ruleOf({ when, do: what, afterMs }: RetryRule): Json {
  return {
    when: typeof when === 'string' ? when : '(code)',
    do: what,
    ...(afterMs === undefined ? {} : { afterMs }),
  };
}

/** Libraries keep the JSON Schema in different places, and some have none. */
function schemaOf(schema: Schema | undefined, side: 'input' | 'output'): ContractSchema {
  if (schema === undefined) return true;
  const { vendor } = schema['~standard'];
  try {
    const found = jsonSchemaOf(schema as JsonSchemaSource, side);
    if (typeof found === 'object' && found !== null) return plain(found);
  } catch {
    // JSON Schema cannot express it: a transform, a date, a class.
  }
  return { opaque: vendor };
}

interface JsonSchemaSource {
  readonly '~standard': {
    readonly jsonSchema?: Readonly<
      Record<'input' | 'output', ((options: { target: string }) => unknown) | undefined>
    >;
  };
  toJSONSchema?(): unknown;
  toJsonSchema?(): unknown;
}

function jsonSchemaOf(schema: JsonSchemaSource, side: 'input' | 'output'): unknown {
  const standard = schema['~standard'].jsonSchema?.[side];
  if (standard !== undefined) return standard({ target: 'draft-2020-12' });
  return schema.toJSONSchema?.() ?? schema.toJsonSchema?.();
}

/** Drops everything that only the library uses. */
function plain(schema: object): ContractSchema {
  return JSON.parse(canonicalJson(JSON.parse(JSON.stringify(schema)) as Json)) as ContractSchema;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
