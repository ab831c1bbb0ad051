// How a handler that was called reaches the coordinator: what it records then is recorded at once.

import type { Carrier } from '../protocol/messages/carrier.ts';
import type { WorkerStore } from '../store/contract/execution-store.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, readOptions, requireMethods, requireUrl } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { greet } from './greet.ts';
import { httpCarrier } from './http-carrier.ts';
import { remoteStore } from './remote-store.ts';

/** By HTTP with a key of role `work`, or by a carrier, which is yours to close. */
export type WayBack =
  | { readonly url: string; readonly key?: string }
  | { readonly carrier: Carrier };

const KEY_MAX = 256;

/** Reached when it is first needed, and by one greeting. */
export function wayBackOf(given: WayBack): () => Promise<WorkerStore> {
  const timers = systemTimers;
  const carrier = carrierOf(given);
  let opened: Promise<WorkerStore> | undefined;
  return () => {
    opened ??= greet(carrier, { timers, observer: undefined, connectMs: 0 }).then(
      (hello) => remoteStore({ carrier, hello, timers, pipelines: [] }),
      (fault: unknown) => {
        opened = undefined;
        throw fault;
      },
    );
    return opened;
  };
}

function carrierOf(given: WayBack): Carrier {
  const what = 'pushHandler: coordinator';
  const names = ['url', 'key', 'carrier'] as const;
  const way = readOptions<{ url?: string; key?: string; carrier?: Carrier }>(what, given, names);
  const { url, key, carrier } = way;
  if (carrier !== undefined) {
    if ((url ?? key) !== undefined) {
      throw new InvalidInput(`${what}: url and key are for HTTP; a carrier has its own.`);
    }
    requireMethods(`${what}.carrier`, carrier, ['ask', 'close']);
    return carrier;
  }
  requireUrl(what, url);
  if (key !== undefined) boundedText(`${what}.key`, key, KEY_MAX);
  return httpCarrier({
    url: url ?? '',
    timers: systemTimers,
    ...(key === undefined ? {} : { key }),
  });
}
