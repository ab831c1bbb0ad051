import { join } from 'node:path';

/** Where the parts of a build are that run as processes of their own. */
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
