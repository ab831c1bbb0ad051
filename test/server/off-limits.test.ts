// What a coordinator without keys, or whoever has none, must not be talked into.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCoordinator } from './coordinator.ts';

test('without keys, no listener is beyond loopback: neither the API, nor admin, nor gRPC', async () => {
  const beyond = { host: '0.0.0.0', port: 0 };
  for (const given of [beyond, { admin: beyond }, { grpc: beyond }]) {
    await assert.rejects(
      TestCoordinator.onMemory({ auth: 'off', ...given }).then(async (opened) => {
        await opened[Symbol.asyncDispose]();
      }),
      /listens on loopback only; 0\.0\.0\.0 is not/,
      JSON.stringify(given),
    );
  }
});
