// A node monitor. Three nodes register. One leaves, one is frozen for a moment, and one is killed. The
// monitor prints each change: joined, suspect, recovered, gone.
//
//   npm run example examples/leases/service-registry/main.ts

import { join } from 'node:path';
import { type MemberChange, type Registry, registry } from 'holdfast/recipes';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { Story } from '../story.ts';
import type { NodeReport } from './node.ts';

const NODE = join(import.meta.dirname, 'node.ts');
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'node-a': ['joined', 'gone'],
  'node-b': ['joined', 'suspect', 'recovered'],
  'node-c': ['joined', 'suspect', 'gone'],
};

const story = new Story();
const storeFile = join(story.folder, 'leases.db');

/** Prints every change. Callers can wait for one. */
class Monitor {
  readonly #seen: MemberChange[] = [];
  #wake: () => void = () => undefined;

  async watch(nodes: Registry): Promise<never> {
    for await (const change of nodes.watch({ pollMs: 50 })) {
      const { owner, state, metadata } = change.member;
      const where = `zone ${metadata['zone']}, ${metadata['address']}`;
      story.print('monitor', `${owner} ${change.kind.padEnd(9)} now ${state} (${where})`);
      this.#seen.push(change);
      this.#wake();
    }
    throw new Error('The registry ended the watch.');
  }

  of(owner: string): readonly string[] {
    return this.#seen.filter(({ member }) => member.owner === owner).map(({ kind }) => kind);
  }

  async sees(owner: string, kind: string): Promise<void> {
    while (!this.of(owner).includes(kind)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

async function plot(nodes: Registry, monitor: Monitor): Promise<void> {
  const start = (name: string, zone: string) =>
    story.start<NodeReport>(NODE, name, { storeFile, zone });
  const [a, b, c] = [start('node-a', 'north'), start('node-b', 'north'), start('node-c', 'south')];
  for (const node of [a, b, c]) await monitor.sees(node.name, 'joined');

  story.print('system', 'requests node-a to stop');
  await a.stop();
  await monitor.sees('node-a', 'gone');

  story.print('system', 'SIGSTOP: node-b is frozen');
  b.freeze();
  await monitor.sees('node-b', 'suspect');
  b.thaw();
  story.print('system', 'SIGCONT: node-b runs again before its session expires');
  await monitor.sees('node-b', 'recovered');

  story.print('system', 'SIGKILL: node-c dies');
  await c.kill();
  await monitor.sees('node-c', 'gone');

  const left = await nodes.list();
  story.print('monitor', `live now: ${left.map(({ owner }) => owner).join()}`);
  story.mustBe(left.length === 1 && left[0]?.owner === 'node-b', 'one node is left');
  for (const [owner, expected] of Object.entries(EXPECTED)) {
    story.mustBe(monitor.of(owner).join() === expected.join(), `${owner}: ${expected.join()}`);
  }
}

await story.play('A monitor of live nodes', async () => {
  const store = await openSqliteStore({ file: storeFile });
  const nodes = registry({ store, service: 'search' });
  const monitor = new Monitor();
  await Promise.race([monitor.watch(nodes), plot(nodes, monitor)]);
});
