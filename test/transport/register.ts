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
 * Registers each case that the transport can run, on its own coordinator. `count` is the number of
 * cases in `npm test`. Default: all.
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
