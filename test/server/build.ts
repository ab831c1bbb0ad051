import { join } from 'node:path';

/** The parts of a build that run as separate processes. */
export interface Build {
  /** The command line. */
  readonly cli: string;
  /** Exports `openWorker`. */
  readonly worker: string;
  /** Exports `pipeline`. */
  readonly pipeline: string;
}

const SOURCES = join(import.meta.dirname, '../../src');

/** Run from its sources. */
export const PRESENT_BUILD: Build = {
  cli: join(SOURCES, 'cli/main.ts'),
  worker: join(SOURCES, 'worker/open-worker.ts'),
  pipeline: join(SOURCES, 'engine/pipeline.ts'),
};
