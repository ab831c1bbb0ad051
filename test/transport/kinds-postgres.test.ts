import { after } from 'node:test';
import { isExcluded, isLongRun } from '../services/excluded.ts';
import { postgresForTests } from '../services/postgres.ts';
import { backendOf, type Kind } from './backend.ts';
import { grpcKind } from './grpc-kind.ts';
import { onPostgres } from './on-postgres.ts';
import { pushedKind } from './pushed.ts';
import { registerTransportContract } from './register.ts';
import { restKind } from './rest-kind.ts';

// What a store does is the same whoever carries it there: one kind always, the others in the long form.
const KINDS: readonly Kind[] = [
  restKind,
  ...(isLongRun() ? [grpcKind('stream'), pushedKind('push', { lacks: ['asking'] })] : []),
];

if (!isExcluded('postgres')) {
  const database = await postgresForTests();
  const stand = onPostgres(database.url);
  after(async () => {
    await stand.end();
    await database.release();
  });
  for (const kind of KINDS) registerTransportContract(backendOf(stand.of(kind)));
}
