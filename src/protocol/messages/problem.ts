// The response to a failed request (RFC 9457). `code` is stable and meant for programs.

import { type Static, Type } from 'typebox';
import { AccessDenied, Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';

export const problem = Type.Object({
  type: Type.String({ description: 'A URI that names the kind of problem.' }),
  title: Type.String(),
  status: Type.Integer(),
  code: Type.String({ description: 'Stable; for programs.' }),
  detail: Type.String({ description: 'What happened, why, and what to do next; for people.' }),
  /** For a refusal: the facts that its reader needs. */
  refusal: Type.Optional(Type.Unknown()),
});

export type ProblemMessage = Static<typeof problem>;

// Converts a coordinator's problem into the fault that a store would have thrown.

/** The code comes from the coordinator's store, or from a proxy in between. */
export function faultOf(code: string, message: string, status: number = 500): Fault {
  if (code === 'store-unavailable' || status === 429) return new StoreUnavailable(message);
  if (status === 401 || status === 403) return new AccessDenied(code, message);
  if (status < 500) return new Fault(code, message);
  return new OutcomeUnknown(message);
}
