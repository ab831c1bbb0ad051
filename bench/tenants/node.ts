// A coordinator with two projects. Each has a key with all roles.

import { openFolderArchive } from '../../src/archive/folder.ts';
import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import { parseProject } from '../../src/execution/names.ts';
import {
  newKey,
  type ProjectSettings,
  ROLES,
  type Role,
  writeKey,
} from '../../src/features/access/model.ts';
import { openServer, type SqsKey } from '../../src/server/serve.ts';
import type { StoreLocation } from '../executions/store-location.ts';
import { type Need, PUSH_SIGNING } from './attacks.ts';
import { type QueuesByProject, queueClient, signingOf } from './queues.ts';

const KEEP_MS = 3_000;

const { location, needs, endpointPort, folder, queues } = JSON.parse(process.argv[2] ?? '{}') as {
  location: StoreLocation;
  needs?: Need;
  endpointPort: number;
  folder: string;
  queues?: QueuesByProject;
};
const { store } = await openHoldfast({
  store:
    location.kind === 'sqlite' ? location.file : location.kind === 'postgres' ? location.url : '',
});

function settingsOf(name: string): ProjectSettings {
  return needs === 'archive' && name === 'hostile' ? { keepMs: { completed: KEEP_MS } } : {};
}

function sqsKey(project: string): SqsKey {
  return { secret: signingOf(project).keys[project] ?? '', project };
}

async function keyOf(name: string, roles: readonly Role[] = ROLES): Promise<string> {
  const project = parseProject(name);
  const { id, secret, digest } = newKey();
  await store.access.putProject({ name: project, settings: settingsOf(name) });
  await store.access.createKey({ id, digest, name, project, roles });
  return writeKey({ id, secret });
}

const keys = {
  healthy: await keyOf('healthy'),
  hostile: await keyOf('hostile'),
  weak: await keyOf('hostile', ['submit']),
};
const endpoint = {
  url: `http://127.0.0.1:${endpointPort}/`,
  ...{ project: 'hostile', pipelines: ['restless'], signing: PUSH_SIGNING },
};
const { url, grpcAddress } = await openServer({
  ...{ store, port: 0, grpc: { port: 0 } },
  ...(needs === 'push' && {
    push: {
      endpoints: [endpoint],
      allow: { hosts: ['127.0.0.1'], privateAddresses: true, http: true },
      // The endpoint opens later than the coordinator.
      circuit: { failuresMax: 1_000 },
      probeMs: 100,
    },
  }),
  ...(queues && {
    sqs: {
      ...{ client: queueClient(), requestQueueUrl: queues.healthy.requests },
      poisonQueueUrl: queues.healthy.poison,
      replyQueues: [queues.healthy.replies, queues.hostile.replies],
      keys: {
        healthy: sqsKey('healthy'),
        hostile: { ...sqsKey('hostile'), requestQueueUrl: queues.hostile.requests },
      },
    },
  }),
  ...(needs === 'archive' && {
    retention: { archive: openFolderArchive({ folder }), everyMs: 100 },
  }),
});
console.log(JSON.stringify({ url, grpcAddress, ...keys }));
process.on('disconnect', () => process.exit(0));
