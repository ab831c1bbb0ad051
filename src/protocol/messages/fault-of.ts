// A problem that a coordinator answered with, as the fault that a store would have thrown.

import { AccessDenied, Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';

/** As the coordinator's store, or something between us and it, put it. */
export function faultOf(code: string, message: string, status: number = 500): Fault {
  if (code === 'store-unavailable' || status === 429) return new StoreUnavailable(message);
  if (status === 401 || status === 403) return new AccessDenied(code, message);
  if (status < 500) return new Fault(code, message);
  return new OutcomeUnknown(message);
}
