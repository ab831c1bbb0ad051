// A coordinator with two projects. Each has a key with all roles.

import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import { parseProject } from '../../src/execution/names.ts';
import { newKey, ROLES, type Role, writeKey } from '../../src/features/access/model.ts';
import { openServer } from '../../src/server/serve.ts';
import type { StoreLocation } from '../executions/store-location.ts';

const location = JSON.parse(process.argv[2] ?? '{}') as StoreLocation;
const { store } = await openHoldfast({
  store:
    location.kind === 'sqlite' ? location.file : location.kind === 'postgres' ? location.url : '',
});

async function keyOf(name: string, roles: readonly Role[] = ROLES): Promise<string> {
  const project = parseProject(name);
  const { id, secret, digest } = newKey();
  await store.access.putProject({ name: project, settings: {} });
  await store.access.createKey({ id, digest, name, project, roles });
  return writeKey({ id, secret });
}

const keys = {
  healthy: await keyOf('healthy'),
  hostile: await keyOf('hostile'),
  weak: await keyOf('hostile', ['submit']),
};
const { url, grpcAddress } = await openServer({ store, port: 0, grpc: { port: 0 } });
console.log(JSON.stringify({ url, grpcAddress, ...keys }));
process.on('disconnect', () => process.exit(0));
