// SQS queues on loopback, in their own process: those of the coordinator, and one for the replies to
// each project.

import { SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';

export interface QueueAddresses {
  readonly endpoint: string;
  readonly requests: string;
  readonly poison: string;
  readonly healthy: string;
  readonly hostile: string;
}

export function queueClient({ endpoint }: QueueAddresses): SQSClient {
  return new SQSClient({
    ...{ endpoint, region: 'us-east-1', useQueueUrlAsEndpoint: false },
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  });
}

/** The signing key of a project has the project's name as its id. */
export function signingOf(project: string): {
  readonly keys: Readonly<Record<string, string>>;
  readonly current: string;
} {
  return { keys: { [project]: `${project} `.repeat(8) }, current: project };
}

if (import.meta.main) {
  const faux = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false });
  const queue = (name: string): string => faux.createQueue(name).queueUrl;
  const addresses: QueueAddresses = {
    endpoint: `http://127.0.0.1:${faux.port}`,
    requests: queue('requests'),
    poison: queue('poison'),
    healthy: queue('healthy'),
    hostile: queue('hostile'),
  };
  console.log(JSON.stringify(addresses));
  process.on('disconnect', () => process.exit(0));
}
