// A pipeline with three builds: an active one with open executions, one that fits, and one that
// would break them.

import { Holdfast, type Pipeline, pipeline, type Schema } from '../../../src/index.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { until } from '../../server/coordinator.ts';

interface Parcel {
  readonly to?: string;
}

function takes(required: readonly string[]): Schema<Parcel> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => ({ value: (value ?? {}) as Parcel }),
      ...{
        jsonSchema: {
          input: () => ({ type: 'object', properties: { to: { type: 'string' } }, required }),
        },
      },
    },
  };
}

function parcel(step: string, required: readonly string[] = []): Pipeline<Parcel, string> {
  return pipeline({
    name: 'parcel',
    input: takes(required),
    async run(ctx, { to = 'nowhere' }: Parcel) {
      await ctx.step(step, () => 'done');
      await ctx.receive('go');
      return ctx.step('send', () => to);
    },
  });
}

const BUILDS = { v1: parcel('pack'), v2: parcel('pack'), v3: parcel('wrap', ['to']) } as const;

export interface Parcels {
  /** Pinned to v1, and waiting. */
  readonly parcels: readonly string[];
  close(): Promise<void>;
}

export async function plantParcels(store: CoordinatorStore): Promise<Parcels> {
  const holdfast = new Holdfast({ store });
  for (const [name, code] of Object.entries(BUILDS)) {
    const digest = `sha256:${name}`;
    const about = { artifact: 'registry.example/parcels', digest, actor: 'ci' };
    await holdfast.releases.register({ pipeline: code, name, ...about });
    const worker = { owner: `parcels-${name}@host-4`, probeMs: 100 };
    await holdfast.worker({ pipelines: [code], release: { name, digest }, ...worker });
  }
  await holdfast.releases.activate('parcel', 'v1', { actor: 'ann', reason: 'the first' });
  const parcels = await Promise.all(
    ['north', 'south'].map(async (to) => {
      const { id } = await holdfast.submit('parcel', { to });
      await until(async () => ((await holdfast.read(id))?.status === 'waiting' ? id : undefined));
      return id;
    }),
  );
  await holdfast.releases.preflight('parcel', 'v3');
  return { parcels, close: () => holdfast.close() };
}
