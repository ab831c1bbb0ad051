import { test } from 'node:test';
import {
  runTransportCase,
  type TransportBackend,
  type TransportCase,
  transportContract,
  transportSkipReason,
} from '../../contract/index.ts';
import { sample } from '../services/tier.ts';

/**
 * Each case that the transport can run, on a coordinator of its own. `count` is how many `npm test` takes;
 * default all.
 */
export function registerTransportContract(
  backend: TransportBackend,
  {
    cases = transportContract,
    count = cases.length,
  }: { readonly cases?: readonly TransportCase[]; readonly count?: number } = {},
): void {
  const possible = cases.filter((each) => transportSkipReason(each, backend) === undefined);
  for (const each of sample(`transport contract, ${backend.name}`, possible, count)) {
    test(`${backend.name}: ${each.upholds}: ${each.name}`, () => runTransportCase(each, backend));
  }
}
