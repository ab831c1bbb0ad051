// By hand: node test/model/main.ts [--store=sqlite] [--kind=at-once] [--programs=500]
//          [--seed=<number> [--path=<path>]] [--times=<number>]

import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { openBackend, STORES, type StoreName } from './backends.ts';
import { KINDS, type Kind, searchFailure } from './search.ts';

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    kind: { type: 'string' },
    programs: { type: 'string', default: '200' },
    seed: { type: 'string' },
    path: { type: 'string' },
    times: { type: 'string', default: '1' },
  },
});

const stores = oneOf<StoreName>(STORES, values.store);
const kinds = oneOf<Kind>(KINDS, values.kind);

for (const store of stores) {
  const { backend, release } = await openBackend(store);
  try {
    for (const kind of kinds) await search(store, kind, backend);
  } finally {
    await release();
  }
}

async function search(
  store: StoreName,
  kind: Kind,
  backend: Parameters<typeof searchFailure>[0],
): Promise<void> {
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const path = values.path === undefined ? {} : { path: values.path };
  for (let time = 1; time <= Number(values.times); time += 1) {
    const programs = Number(values.programs);
    const found = await searchFailure(backend, { store, kind, seed, programs, ...path });
    console.log(`${store}, ${kind}: ${found.programs} programs from seed ${seed}`);
    if (found.failure === undefined) continue;
    console.error(found.failure);
    process.exitCode = 1;
    return;
  }
}

function oneOf<Name extends string>(all: readonly Name[], wanted: string | undefined): Name[] {
  const chosen = all.filter((name) => wanted === undefined || name === wanted);
  if (chosen.length === 0) throw new Error(`"${wanted}" is none of ${all.join(', ')}`);
  return chosen;
}
