// What comes back: a body, or a problem.

import type { Problem } from '../protocol/messages/problem.ts';
import { Fault } from '../support/fault.ts';
import { CallRefused } from './calls.ts';

export async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notOurs(response, cause);
  }
}

export function refusalOf(response: Response, body: unknown): Fault {
  const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
  return isProblem ? new CallRefused(body as Problem) : notOurs(response);
}

/** Something between us and the coordinator answered, or something else than one. */
function notOurs({ status, url }: Response, cause?: unknown): Fault {
  // A fetch of the caller's own may leave the address out.
  const who = URL.canParse(url) ? new URL(url).origin : 'The server';
  return new Fault(
    'no-coordinator',
    `${who} answered with status ${status} and nothing that a coordinator says. Is it one, and is there a proxy before it?`,
    cause === undefined ? {} : { cause },
  );
}
