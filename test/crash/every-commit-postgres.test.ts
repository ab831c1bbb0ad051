import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerEveryCommit } from './every-commit.ts';

const database = postgresForTests();
let places = 0;

registerEveryCommit({
  kind: 'postgres',
  async place() {
    places += 1;
    return `${(await database).url}#crash_${places}`;
  },
  open(place) {
    const url = new URL(place);
    const schema = url.hash.slice(1);
    url.hash = '';
    return openPostgresStore({ url: url.href, schema });
  },
});

after(async () => (await database).release());
