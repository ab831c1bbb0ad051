// The floor of a coordinator: three processes and four durable, fenced commits per execution. It has no
// keys, validation, retries, limits or replay.

import { openStreamFloor } from '../../coordinator/stream-floor-client.ts';

export async function open({ url }) {
  const floor = await openStreamFloor(url);
  return {
    settings: 'three processes, four commits per execution, nothing but fences',
    work: async () => undefined,
    run: () => floor.run(),
    close: () => floor.close(),
  };
}
