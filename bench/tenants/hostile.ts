// A tenant that means harm, as a process of its own. It begins and ends when it is told to.

import { Caller } from '../coordinator/caller.ts';
import { ATTACKS } from './attacks.ts';

const { url, key, attack } = JSON.parse(process.argv[2] ?? '{}') as Record<string, string>;
const { begin, operation, end, inFlight } = ATTACKS.find(({ name }) => name === attack) ??
  ATTACKS[0] ?? { inFlight: 0 };

let tenant: Caller | undefined;

async function repeat(caller: Caller, first: number): Promise<void> {
  for (let nth = first; tenant === caller; nth += inFlight) {
    // What was cut off by the end of the round, or by the coordinator, is tried again.
    await operation?.(caller, nth).catch(() => undefined);
  }
}

async function toggle(): Promise<void> {
  if (tenant === undefined) {
    const caller = new Caller(url ?? '', key);
    await begin?.(caller);
    tenant = caller;
    for (let nth = 0; nth < inFlight; nth += 1) void repeat(caller, nth);
    return;
  }
  const caller = tenant;
  tenant = undefined;
  await end?.(caller);
  caller.close();
}

process.on('message', () => void toggle().then(() => process.send?.('done')));
console.log('ready');
process.on('disconnect', () => process.exit(0));
