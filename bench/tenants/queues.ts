// The SQS queues of one project, on loopback and in their own process, as each queue of SQS has its
// own throughput.

import { SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';

export interface QueueAddresses {
  readonly requests: string;
  readonly replies: string;
  readonly poison: string;
}

export type QueuesByProject = Readonly<Record<'healthy' | 'hostile', QueueAddresses>>;

/** It reaches each queue at its own address. */
export function queueClient(): SQSClient {
  const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
  // It warns that the queues are not at AWS.
  const quiet = (): void => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  return new SQSClient({ region: 'us-east-1', credentials, logger });
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
  // Its host is not a name that resolves.
  const queue = (name: string): string =>
    faux.createQueue(name).queueUrl.replace('sqs.us-east-1.', '');
  const addresses: QueueAddresses = {
    requests: queue('requests'),
    replies: queue('replies'),
    poison: queue('poison'),
  };
  console.log(JSON.stringify(addresses));
  process.on('disconnect', () => process.exit(0));
}
