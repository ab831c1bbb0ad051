// RE-4, RE-5, RE-6: several processes change one rollout at once, as coordinators do, and submit to
// it. Its log must have an order that explains every operation, and no open execution may be pinned
// to a retired release.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { Activation } from '../../src/features/releases/model.ts';
import { runSeed } from '../services/tier.ts';
import { openAddressed, type PlaceIn } from './place.ts';
import { ROLLOUT, type RolloutActorArgs, type RolloutActorDone } from './rollout-actor.ts';

const ACTORS = ['ann', 'bob', 'cleo', 'dan'];
const ROUNDS = 40;

export function registerRolloutRace(kind: string, placeIn: PlaceIn): void {
  test(`${kind}: RE-4, RE-5, RE-6: operations of ${ACTORS.length} processes on one rollout are serialised, and none is lost`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'hf-rollout-'));
    const place = await placeIn(folder);
    const store = await openAddressed(place);
    const holdfast = new Holdfast({ store });
    try {
      const seed = runSeed();
      const done = await Promise.all(
        ACTORS.map((actor, nth) =>
          runActor({ store: place, actor, seed: seed + nth, rounds: ROUNDS }),
        ),
      );
      const log = (await holdfast.releases.log(ROLLOUT)).toReversed();
      const changed = done.reduce((sum, each) => sum + each.changed, 0);
      checkLog(log, changed);
      const { version, ...rollout } = await holdfast.releases.rollout(ROLLOUT);
      assert.deepEqual([version, rollout], [changed, log.at(-1)?.after]);
      const submitted = done.flatMap((each) => each.submitted);
      await checkPins(holdfast, log, submitted);
      const refusals = new Set(done.flatMap((each) => each.refusals));
      t.diagnostic(
        `${changed} operations, ${submitted.length} submits; refused: ${[...refusals].join()}`,
      );
      // A race without a loser shows nothing.
      assert.ok(refusals.has('release-pinned'), [...refusals].join());
      assert.ok(log.some(({ action }) => action === 'retire'));
    } finally {
      await holdfast.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** RE-4: each operation builds on the one before, and a retired release does not come back. */
function checkLog(log: readonly Activation[], changed: number): void {
  assert.deepEqual(
    log.map(({ version }) => version),
    Array.from({ length: changed }, (_, nth) => nth + 1),
  );
  const retired = new Set<string>();
  for (const [nth, { action, name, before, after }] of log.entries()) {
    assert.deepEqual(before, log[nth - 1]?.after ?? {});
    if (action === 'retire') retired.add(name);
    for (const used of [after.active, after.canary, after.previous]) {
      assert.ok(used === undefined || !retired.has(used), `${used} was retired before`);
    }
  }
}

/**
 * RE-5, RE-6: all executions are open, and pinned to a release that was active or the canary once
 * and is not retired.
 */
async function checkPins(
  holdfast: Holdfast,
  log: readonly Activation[],
  submitted: readonly string[],
): Promise<void> {
  const used = new Set(log.flatMap(({ after }) => [after.active, after.canary]));
  const retired = new Set(log.filter(({ action }) => action === 'retire').map(({ name }) => name));
  for (const id of submitted) {
    const found = await holdfast.read(id);
    assert.equal(found?.status, 'queued');
    const { release } = found;
    // Before the first activation there is no release to pin to.
    if (release === undefined) continue;
    assert.ok(used.has(release) && !retired.has(release), `${id} is pinned to ${release}`);
  }
}

async function runActor(args: RolloutActorArgs): Promise<RolloutActorDone> {
  const file = join(import.meta.dirname, 'rollout-actor.ts');
  const child = spawn(process.execPath, [file, JSON.stringify(args)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.equal(code, 0, args.actor);
  return JSON.parse(output) as RolloutActorDone;
}
