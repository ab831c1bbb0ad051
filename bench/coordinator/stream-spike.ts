// The streaming spike: client, coordinator and worker as bare processes with one connection each. It
// is not part of this project and needs PostgreSQL.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, runSpikeScript, spikesFolder } from '../executions/reference.ts';
import type { Round } from '../measure.ts';

export type StreamSpike = (inFlight: number) => Promise<Round>;

/** Undefined without spikes. */
export function streamSpike(
  url: string,
  { spikes, quick }: { readonly spikes: string | undefined; readonly quick: boolean },
): StreamSpike | undefined {
  const script = join(spikesFolder(spikes), 'coordinator-stream.mjs');
  if (!existsSync(script)) return undefined;
  return async (inFlight) => {
    const executions = (inFlight === 1 ? 300 : 4_000) * (quick ? 1 : 4);
    const { round } = await runSpikeScript(script, [String(executions), String(inFlight)], {
      cwd: PROJECT,
      env: { PGURL: url },
    });
    return round;
  };
}
