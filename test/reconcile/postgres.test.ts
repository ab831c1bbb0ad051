import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { registerBroken } from './register.ts';
import { postgresWorld } from './worlds.ts';

const database = postgresForTests();

registerBroken(async () => postgresWorld((await database).url));

after(async () => (await database).release());
