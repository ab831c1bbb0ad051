import type { LeasePolicy } from '../../../lease/policy.ts';
import type { ForgottenKeys } from '../../sql/forget-keys.ts';
import type { Surroundings } from '../committer.ts';
import type { Database } from '../database.ts';
import type { Bell } from './bell.ts';
import type { Boundaries } from './boundaries.ts';
import type { ClaimFloors } from './claim-floors.ts';
import type { Ledger } from './ledger.ts';
import type { Strays } from './strays.ts';

/** What every verb of executions works with. */
export interface Parts {
  readonly database: Database;
  readonly policy: LeasePolicy;
  readonly surroundings: Surroundings;
  readonly boundaries: Boundaries;
  readonly bell: Bell;
  readonly ledger: Ledger;
  readonly strays: Strays;
  readonly floors: ClaimFloors;
  readonly keys: ForgottenKeys;
}
