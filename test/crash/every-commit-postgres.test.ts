import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { registerEveryCommit } from './every-commit.ts';

const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'crash');

registerEveryCommit({
  kind: 'postgres',
  async place() {
    return `${url}#${await schemas.take()}`;
  },
  open(place) {
    return openPostgresStore({ url, schema: schemaIn(place) });
  },
  clear: (place) => schemas.giveBack(schemaIn(place)),
});

function schemaIn(place: string): string {
  return new URL(place).hash.slice(1);
}

after(async () => {
  await schemas.end();
  await release();
});
