// A coordinator with two projects. Each has a key with all roles.

import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import { parseProject } from '../../src/execution/names.ts';
import { newKey, ROLES, writeKey } from '../../src/features/access/model.ts';
import { openServer } from '../../src/server/serve.ts';
import type { StoreLocation } from '../executions/store-location.ts';

const location = JSON.parse(process.argv[2] ?? '{}') as StoreLocation;
const { store } = await openHoldfast({
  store:
    location.kind === 'sqlite' ? location.file : location.kind === 'postgres' ? location.url : '',
});

async function keyOf(name: string): Promise<string> {
  const project = parseProject(name);
  const { id, secret, digest } = newKey();
  await store.access.putProject({ name: project, settings: {} });
  await store.access.createKey({ id, digest, name, project, roles: ROLES });
  return writeKey({ id, secret });
}

const [healthy, hostile] = [await keyOf('healthy'), await keyOf('hostile')];
const { url } = await openServer({ store, port: 0 });
console.log(JSON.stringify({ url, healthy, hostile }));
process.on('disconnect', () => process.exit(0));
