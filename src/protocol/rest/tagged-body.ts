// Values of callers that have more than JSON: their tags are read in one place, before a route sees them.

import { Fault } from '../../support/fault.ts';
import { fromParsed } from '../../support/value.ts';
import { ProblemReply } from './route.ts';

const VALUES = ['input', 'value', 'defaults'] as const;

/** The body with its values as they were; without `tagged`, which routes need not know. */
export function withoutTags<Body>(body: Body): Body {
  if (typeof body !== 'object' || body === null || !('tagged' in body)) return body;
  const { tagged, ...rest } = body as Partial<Record<string, unknown>>;
  if (tagged !== true) return rest as Body;
  try {
    for (const name of VALUES) {
      if (Object.hasOwn(rest, name)) rest[name] = fromParsed(rest[name], true);
    }
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    throw new ProblemReply(400, 'invalid-input', `${fault.message} Nothing was done.`);
  }
  return rest as Body;
}
