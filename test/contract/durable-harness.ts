import type { OpenHarness } from '../../contract/index.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type { Instant } from '../../src/support/clock.ts';

export interface DurableParts {
  openClient(): Promise<KernelStore>;
  advance(ms: number): Promise<void>;
  now(): Instant;
  restarted?(how: 'in-place' | 'elsewhere'): Promise<void>;
  /** Called last, after every client is closed. */
  dispose(): Promise<void>;
}

/** A harness over data that outlives its clients. */
export async function durableHarness(parts: DurableParts): Promise<OpenHarness> {
  let clients: KernelStore[] = [];
  const another = async (): Promise<KernelStore> => {
    const client = await parts.openClient();
    clients.push(client);
    return client;
  };
  const closeAll = async (): Promise<void> => {
    const open = clients;
    clients = [];
    for (const client of open) await client.close();
  };
  const { advance, now, restarted } = parts;
  return {
    store: await another().catch(async (fault: unknown) => {
      await parts.dispose();
      throw fault;
    }),
    another,
    async reopen() {
      await closeAll();
      return another();
    },
    advance,
    now,
    ...(restarted === undefined ? {} : { restarted }),
    async close() {
      await closeAll();
      await parts.dispose();
    },
  };
}
