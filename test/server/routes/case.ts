import type { Given, TestCoordinator } from '../coordinator.ts';

/** A promise to callers of a coordinator, on every store. */
export interface Case {
  readonly name: string;
  readonly given?: Given;
  run(coordinator: TestCoordinator): Promise<void>;
}
