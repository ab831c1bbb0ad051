import type { ClientBase } from 'pg';
import { InvalidInput } from '../../../support/fault.ts';
import type { Submit, SubmitAnswer, TransactionClient } from '../../contract/execution-store.ts';
import { isClash } from '../committer.ts';
import { type Queries, toFault } from '../database.ts';
import { insertWithPlaces } from './insert-executions.ts';
import type { Parts } from './parts.ts';
import { answerByWhoIsThere } from './submit.ts';

const NO_TRANSACTION = '25P01';

/** with its savepoint, so that a lost race leaves the caller's transaction as it was. */
export async function submitWithin(
  { database }: Parts,
  given: TransactionClient,
  request: Submit,
): Promise<SubmitAnswer> {
  const client = given as ClientBase;
  const queries = database.on(client);
  for (;;) {
    if (await inserted(client, queries, request)) {
      return { kind: 'submitted', id: request.id, existing: false };
    }
    const answer = await answerByWhoIsThere(queries, request);
    if (answer !== undefined) return answer;
  }
}

async function inserted(client: ClientBase, queries: Queries, request: Submit): Promise<boolean> {
  await client.query('savepoint holdfast_submit').catch(explain);
  try {
    const [isInserted = false] = await insertWithPlaces(queries, [request], false);
    await client.query('release savepoint holdfast_submit');
    return isInserted;
  } catch (cause) {
    const fault = toFault(cause);
    await client.query('rollback to savepoint holdfast_submit');
    if (isClash(fault)) return false;
    throw fault;
  }
}

function explain(cause: { readonly code?: string }): never {
  if (cause.code !== NO_TRANSACTION) throw toFault(cause);
  throw new InvalidInput(
    'submit: client has no transaction open. Nothing was submitted. Send "begin" on it first.',
    { cause },
  );
}
