// A worker that is frozen while its store is exported, and wakes after another worker took its
// execution.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mustAcquire, openedSession, textOf } from '../../contract/lease/opened-session.ts';
import { openAddressed, type StorePlace } from '../load/place.ts';
import { allRows, exported, imported } from './exported.ts';
import { kill, placed } from './under-load.ts';

const CHILD = join(import.meta.dirname, 'children/late-holder.ts');

type ChildReport = Readonly<Record<string, unknown>>;

class LateHolder {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(place: StorePlace) {
    this.child = spawn(process.execPath, [CHILD, JSON.stringify(place)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.ok(this.child.stdout !== null);
    this.#lines = createInterface(this.child.stdout)[Symbol.asyncIterator]();
  }

  /** Reads its output until that line. */
  async until(isIt: (report: ChildReport) => boolean): Promise<ChildReport> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      assert.ok(done !== true, 'it ended before it printed that');
      const report = JSON.parse(value) as ChildReport;
      if (isIt(report)) return report;
    }
  }
}

/** EX-1, EX-4. */
export async function refusesTheLate(
  folder: string,
  { from, to }: { readonly from: StorePlace; readonly to: StorePlace },
): Promise<void> {
  const late = new LateHolder(from);
  try {
    const { fence } = await late.until(({ kind }) => kind === 'stopping');
    const file = join(folder, 'all.ndjson');
    await exported(placed(from), file);
    await imported(placed(to), file);
    const store = await openAddressed(to);
    const ben = await openedSession(store, 'ben');
    const next = await mustAcquire(store, ben);
    await store.close();
    assert.ok(next.fence > Number(fence));
    assert.equal(textOf(next.checkpoint?.bytes), 'halfway');
    const before = await allRows(placed(from));
    late.child.kill('SIGCONT');
    const refusals = new Map<unknown, ChildReport>();
    await late.until((report) => {
      if (report['kind'] === 'lost' || report['kind'] === 'refused')
        refusals.set(report['kind'], report);
      assert.notEqual(report['kind'], 'written', JSON.stringify(report));
      assert.notEqual(report['kind'], 'completed', JSON.stringify(report));
      return refusals.size === 2;
    });
    assert.match(
      String(refusals.get('refused')?.['message']),
      /This store is sealed: olga exported it to /,
    );
    assert.deepEqual((await allRows(placed(from))).tables, before.tables);
  } finally {
    late.child.kill('SIGCONT');
    await kill(late.child);
  }
}
