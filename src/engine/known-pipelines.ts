// The pipelines whose code is in this process: those of its workers, and those it was opened with.

import type { PipelineName } from '../execution/names.ts';
import { InvalidInput } from '../support/fault.ts';
import { readList } from '../support/options.ts';
import { type AnyPipeline, asPipeline, type Pipeline } from './pipeline.ts';

// biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output, in one list
export type Pipelines = readonly Pipeline<any, any>[];

export class KnownPipelines {
  readonly #byName: Map<PipelineName, AnyPipeline>;

  constructor(pipelines: Pipelines = []) {
    this.#byName = new Map(pipelinesByName('openHoldfast', pipelines));
  }

  /** What was known before under the same name is replaced. */
  add(pipelines: ReadonlyMap<PipelineName, AnyPipeline>): void {
    for (const [name, pipeline] of pipelines) this.#byName.set(name, pipeline);
  }

  get(name: PipelineName): AnyPipeline | undefined {
    return this.#byName.get(name);
  }
}

export function pipelinesByName(
  what: string,
  pipelines: unknown,
): ReadonlyMap<PipelineName, AnyPipeline> {
  const byName = new Map<PipelineName, AnyPipeline>();
  for (const each of readList(`${what}: pipelines`, pipelines)) {
    const pipeline = asPipeline(each);
    if (pipeline === undefined) {
      throw new InvalidInput(`${what}: each of pipelines is made by pipeline({ name, run }).`);
    }
    if (byName.has(pipeline.name)) {
      throw new InvalidInput(`${what}: two of pipelines are called "${pipeline.name}".`);
    }
    byName.set(pipeline.name, pipeline);
  }
  return byName;
}
