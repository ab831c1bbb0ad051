// Scenarios from the test suites of other projects, and how each is written with Holdfast. The pages
// in docs/compare are rendered from them.

import type { Holdfast } from '../../src/index.ts';
import type { Stage } from '../engine/stage.ts';

export type Case = (stage: Stage) => Promise<void>;

/** A test that shows a scenario: its file, and its name or a part of it. */
export interface Citation {
  readonly file: string;
  readonly name: string;
}

interface Row {
  /** The test's name in the suite of the other project. */
  readonly peer: string;
  /** How it is written here; or, if it cannot be, the reason. One line of Markdown. */
  readonly text: string;
}

/** A scenario: played by a case of its own, shown by tests that exist, or missing. */
export type Scenario = Row &
  (
    | { readonly kind: 'played'; readonly run: Case }
    | { readonly kind: 'cited'; readonly by: readonly Citation[] }
    | { readonly kind: 'missing' }
  );

export interface Suite {
  /** As in the address of its page. */
  readonly id: string;
  readonly name: string;
  readonly scenarios: readonly Scenario[];
}

export function played(peer: string, text: string, run: Case): Scenario {
  return { kind: 'played', peer, text, run };
}

export function cited(peer: string, text: string, ...by: readonly Citation[]): Scenario {
  return { kind: 'cited', peer, text, by };
}

export function missing(peer: string, text: string): Scenario {
  return { kind: 'missing', peer, text };
}

/** Of `test/engine/behaviours`, which run on every store. */
export function behaviour(file: string, name: string): Citation {
  return { file: `test/engine/behaviours/${file}.ts`, name };
}

/** Of `contract/execution`, which every store keeps. */
export function execution(file: string, name: string): Citation {
  return { file: `contract/execution/${file}.ts`, name };
}

/** Of `contract/lease`, which every store keeps. */
export function lease(file: string, name: string): Citation {
  return { file: `contract/lease/${file}.ts`, name };
}

export function shown(file: string, name: string): Citation {
  return { file: `test/${file}.ts`, name };
}

/** A Holdfast with a worker of these pipelines. */
export async function withWorker(
  stage: Stage,
  ...pipelines: Parameters<Stage['worker']>[1]
): Promise<Holdfast> {
  const holdfast = stage.holdfast();
  await stage.worker(holdfast, pipelines);
  return holdfast;
}

/** Waits until the execution is parked. */
export async function untilWaiting(stage: Stage, holdfast: Holdfast, id: string): Promise<void> {
  await stage.until(holdfast, id, ({ status }) => status === 'waiting');
}
