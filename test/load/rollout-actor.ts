// A process that changes one rollout without looking at the changes of others, and submits all the
// while. At its end it prints its operations.

import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { seededRandom } from '../../src/support/random.ts';
import { openAddressed, type StorePlace } from './place.ts';

export interface RolloutActorArgs {
  readonly store: StorePlace;
  readonly actor: string;
  readonly seed: number;
  readonly rounds: number;
}

export interface RolloutActorDone {
  readonly changed: number;
  readonly submitted: readonly string[];
  /** The reasons of refused operations, each once. */
  readonly refusals: readonly string[];
}

export const ROLLOUT = 'raced rollout';

const args = JSON.parse(process.argv[2] ?? 'null') as RolloutActorArgs | null;
if (args !== null) await operation(args);

async function operation({ store: place, actor, seed, rounds }: RolloutActorArgs): Promise<void> {
  const store = await openAddressed(place);
  const holdfast = new Holdfast({ store });
  const { releases } = holdfast;
  const random = seededRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item | undefined =>
    items[Math.floor(random.next() * items.length)];
  const code = pipeline({ name: ROLLOUT, run: () => undefined });
  const submitted: string[] = [];
  const refusals = new Set<string>();
  let changed = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const name = `${actor}-${round}`;
    await releases.register({ pipeline: code, name, artifact: 'image', digest: name });
    const old = (await releases.list(ROLLOUT)).filter(({ state }) => state !== 'retired');
    const operations = [
      () => releases.activate(ROLLOUT, name, { actor }),
      () => releases.setCanary(ROLLOUT, { name, percent: 50 }, { actor }),
      () => releases.promote(ROLLOUT, { actor }),
      () => releases.rollBack(ROLLOUT, { actor }),
      () => releases.retire(ROLLOUT, pick(old)?.name ?? name, { actor }),
    ];
    const asked = [pick(operations), pick(operations)].map((each) => each?.());
    const submits = [1, 2, 3].map(() => holdfast.submit(ROLLOUT, round));
    for (const answer of await Promise.all(asked)) {
      if (answer?.kind === 'changed') changed += 1;
      if (answer?.kind === 'refused') refusals.add(answer.why);
    }
    for (const { id } of await Promise.all(submits)) submitted.push(id);
  }
  const done: RolloutActorDone = { changed, submitted, refusals: [...refusals] };
  console.log(JSON.stringify(done));
  await holdfast.close();
  await store.close();
}
