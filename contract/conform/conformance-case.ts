// A conformance case as data: the rule, the expected behaviour, and the check.

import type { Stage } from './stage.ts';

/** The pipelines that a worker hosts to be checked. `docs/reference/worker-protocol.md` has them. */
export type ConformancePipeline = `conform-${
  | 'attributes'
  | 'echo'
  | 'steps'
  | 'retry'
  | 'parallel'
  | 'sleep'
  | 'signal'
  | 'question'
  | 'child'
  | 'large'
  | 'lease'
  | 'slow'}`;

export interface ConformanceCase {
  readonly name: string;
  /** Ids of the rules in docs/spec. */
  readonly upholds: string;
  /** The heading of the protocol page that describes it, as an anchor. */
  readonly section: string;
  /** The behaviour that passes, in one or two sentences. */
  readonly expects: string;
  /** The pipelines that the worker must host for this case. */
  readonly hosts: readonly ConformancePipeline[];
  /** Throws `Nonconforming` if the worker behaves otherwise. */
  run(stage: Stage): Promise<void>;
}
