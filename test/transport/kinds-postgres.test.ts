import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { sample } from '../services/tier.ts';
import { backendOf, type Kind } from './backend.ts';
import { grpcKind } from './grpc-kind.ts';
import { onPostgres } from './on-postgres.ts';
import { pushedKind } from './pushed.ts';
import { registerTransportContract } from './register.ts';
import { restKind } from './rest-kind.ts';
import { streamKind } from './stream-kind.ts';

/** A transport reaches every store the same way, so `npm test` tries one on PostgreSQL. */
const KINDS: readonly Kind[] = sample(
  'transports on PostgreSQL',
  [restKind, streamKind, grpcKind('stream'), pushedKind('push', { lacks: ['asking'] })],
  1,
);

const database = await postgresForTests();
const stand = onPostgres(database.url);

for (const kind of KINDS) registerTransportContract(backendOf(stand.of(kind)), { count: 20 });

after(async () => {
  await stand.end();
  await database.release();
});
