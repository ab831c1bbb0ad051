import type { Given, TestCoordinator } from '../coordinator.ts';

/** Something that callers of a coordinator can rely on, on every store. */
export interface Case {
  readonly name: string;
  readonly given?: Given;
  run(coordinator: TestCoordinator): Promise<void>;
}
