// A coordinator that calls a fake endpoint on loopback, as a backend of the contract.

import type { TransportHabit } from '../../contract/index.ts';
import { FakeEndpoint, transportPipelines } from '../../contract/index.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import type { Kind } from './backend.ts';
import { ALLOW, type Mounted, mounted } from './push-stand.ts';

const SIGNING = { keys: { k: 'k'.repeat(32), old: 'o'.repeat(32) }, current: 'k' };
/** Calls that take longer are given back: cases wait for that. Others must end in it on a busy machine. */
const CALL_MS = 6_000;

export function pushedKind(
  name: string,
  rest: { readonly withoutConnection?: boolean; readonly lacks: readonly TransportHabit[] },
): Kind {
  let fake: FakeEndpoint;
  let endpoint: Mounted;
  return {
    name,
    offers: ['calls', 'limit'],
    ...rest,
    async options() {
      fake = new FakeEndpoint({ signing: SIGNING, older: 'old' });
      endpoint = await mounted(fake.handler);
      return {
        limits: { bodyBytesMax: 4 * 1024 * 1024 },
        push: {
          endpoints: [{ url: endpoint.url, pipelines: transportPipelines, timeoutMs: CALL_MS }],
          signing: SIGNING,
          allow: ALLOW,
          circuit: { failuresMax: 1_000, cooldownMs: 1 },
        },
      };
    },
    endpoint: () => fake,
    transport: ({ url }, key) => httpTransport({ url, key, timers: systemTimers }),
    async close() {
      fake.close();
      endpoint.close();
    },
  };
}
