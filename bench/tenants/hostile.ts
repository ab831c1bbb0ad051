// The hostile tenant, in its own process. A message from the bench starts or stops the attack.

import { type Access, ATTACKS, Tenant } from './attacks.ts';

const { attack, ...access } = JSON.parse(process.argv[2] ?? '{}') as Access & { attack: string };
const { begin, operation, end, inFlight } = ATTACKS.find(({ name }) => name === attack) ??
  ATTACKS[0] ?? { inFlight: 0 };

let tenant: Tenant | undefined;

async function repeat(caller: Tenant, first: number): Promise<void> {
  for (let nth = first; tenant === caller; nth += inFlight) {
    // The round ended or the coordinator closed the connection: send the request again.
    await operation?.(caller, nth).catch(() => undefined);
  }
}

async function toggle(): Promise<void> {
  if (tenant === undefined) {
    const caller = new Tenant(access);
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

/** The CPU time of this process since its start, in milliseconds. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

process.on('message', () => void toggle().then(() => process.send?.(cpuMs())));
console.log('ready');
process.on('disconnect', () => process.exit(0));
