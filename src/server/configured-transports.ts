// Reads queues, endpoints and answer links from the configuration. Secrets are in files of their
// own and are never shown.

import { readFile } from 'node:fs/promises';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { AnswerLinks, type LinkOptions } from '../features/awaits/links-api.ts';
import { type ChannelOptions, channelSettingsOf } from '../features/channels/signing-api.ts';
import type { SigningOptions } from '../protocol/messages/signing.ts';
import {
  type PushEndpoint,
  type PushOptions,
  pushSettingsOf,
  sharedKeysWarning,
} from '../protocol/push/push-options.ts';
import { readSqsOptions, type SqsOptions } from '../protocol/sqs/sqs-options.ts';
import { InvalidInput } from '../support/fault.ts';
import { shownPath } from '../support/hidden-options.ts';
import { present } from '../support/options.ts';
import type { Config } from './config.ts';
import type { ConfiguredEndpoint } from './config-schema.ts';

export type LoadSdk = () => Promise<Pick<typeof import('@aws-sdk/client-sqs'), 'SQSClient'>>;

export interface FromQueues {
  readonly sqs: SqsOptions;
  /** The caller must destroy it. */
  readonly client: SQSClient;
}

/** Undefined if SQS is not configured. The caller closes the client. */
export async function sqsOf(
  given: Config['sqs'],
  load: LoadSdk = () => import('@aws-sdk/client-sqs'),
): Promise<FromQueues | undefined> {
  const { region: _r, endpoint: _e, ...ofWorkers } = given;
  if (Object.keys(ofWorkers).length === 0) return undefined;
  const { requestQueueUrl, poisonQueueUrl, replyQueues, keysFile, visibleMs } = ofWorkers;
  const parts = { requestQueueUrl, poisonQueueUrl, replyQueues, keysFile };
  const missing = Object.entries(parts).flatMap(([name, part]) => (part ? [] : [`sqs.${name}`]));
  if (!requestQueueUrl || !poisonQueueUrl || !replyQueues || !keysFile) {
    throw new InvalidInput(`Workers over SQS also need ${missing.join(' and ')}.`);
  }
  const keys = (await secretsIn('sqs.keysFile', keysFile)) as SqsOptions['keys'];
  const client = await sqsClientOf(given, requestQueueUrl, load);
  try {
    const options = { client, requestQueueUrl, poisonQueueUrl, replyQueues, keys };
    const timing = visibleMs === undefined ? {} : { visibleMs };
    return { sqs: readSqsOptions({ ...options, ...timing }), client };
  } catch (fault) {
    client.destroy();
    throw fault;
  }
}

async function sqsClientOf(
  { region, endpoint }: Pick<Config['sqs'], 'region' | 'endpoint'>,
  queueUrl: string,
  load: LoadSdk,
): Promise<SQSClient> {
  const { SQSClient: Client } = await load().catch((cause: unknown) => {
    throw new InvalidInput(
      'SQS needs the package "@aws-sdk/client-sqs". Install it beside holdfast: npm install @aws-sdk/client-sqs',
      { cause },
    );
  });
  const named = region ?? /\bsqs\.([a-z0-9-]+)\.amazonaws\./.exec(queueUrl)?.[1];
  return new Client({
    ...(named === undefined ? {} : { region: named }),
    ...(endpoint === undefined ? {} : { endpoint, useQueueUrlAsEndpoint: false }),
  });
}

/** Undefined if push is not configured. */
export async function pushOf(given: Config['push']): Promise<PushOptions | undefined> {
  const { endpoints, hosts, signingFile, privateAddresses, allowHttp, probeMs } = given;
  const { failuresMax, cooldownMs } = given;
  if (endpoints === undefined) {
    if ((hosts ?? signingFile) === undefined) return undefined;
    throw new InvalidInput(
      'push.hosts or push.signingFile is set without push.endpoints. Set push.endpoints, or remove the others.',
    );
  }
  const isSigned = endpoints.every((each) => (each.signingFile ?? signingFile) !== undefined);
  if (!isSigned || hosts === undefined) {
    const missing = isSigned ? 'push.hosts' : 'push.signingFile';
    throw new InvalidInput(`Push endpoints also need ${missing}.`);
  }
  const options = {
    endpoints: await Promise.all(endpoints.map(withKeys)),
    ...(signingFile !== undefined && {
      signing: (await secretsIn('push.signingFile', signingFile)) as SigningOptions,
    }),
    allow: { hosts, privateAddresses, http: allowHttp },
    ...(probeMs === undefined ? {} : { probeMs }),
    circuit: present({ failuresMax, cooldownMs }),
  };
  pushSettingsOf(options);
  return options;
}

/** Undefined if there are no keys for links. */
export async function linksOf({ signingFile }: Config['links']): Promise<LinkOptions | undefined> {
  if (signingFile === undefined) return undefined;
  const links = (await secretsIn('links.signingFile', signingFile)) as LinkOptions;
  // Validates the keys.
  new AnswerLinks(links);
  return links;
}

export interface ConfiguredChannels extends ChannelOptions {
  /** The caller must destroy the client. */
  readonly sqs?: NonNullable<ChannelOptions['sqs']> & { readonly client: SQSClient };
}

/** Undefined if there are no keys for channels. */
export async function channelOptionsOf(
  { channels: given, sqs }: Pick<Config, 'channels' | 'sqs'>,
  load: LoadSdk = () => import('@aws-sdk/client-sqs'),
): Promise<ConfiguredChannels | undefined> {
  const { signingFile, hosts, privateAddresses, allowHttp, queues, answersQueueUrl } = given;
  const { timeoutMs, keepDays, alertsEveryMs } = given;
  if (signingFile === undefined) return undefined;
  const options = {
    signing: (await secretsIn('channels.signingFile', signingFile)) as LinkOptions,
    allow: { ...present({ hosts }), privateAddresses, http: allowHttp },
    ...{ timeoutMs, keepDays, alertsEveryMs },
  };
  channelSettingsOf(options);
  const [first = answersQueueUrl] = queues ?? [];
  if (first === undefined) return options;
  const client = await sqsClientOf(sqs, first, load);
  return { ...options, sqs: { client, ...present({ queues, answersQueueUrl }) } };
}

/** A warning for the operator about keys that several projects share. */
export async function pushWarning(given: Config['push']): Promise<string | undefined> {
  const options = await pushOf(given);
  return options && sharedKeysWarning(pushSettingsOf(options).endpoints);
}

async function withKeys({ signingFile, ...endpoint }: ConfiguredEndpoint): Promise<PushEndpoint> {
  const name = 'push.endpoints: signingFile';
  if ('signing' in endpoint) {
    throw new InvalidInput(
      `push.endpoints: signing keys must be in a separate file. Pass its path as signingFile.`,
    );
  }
  if (signingFile === undefined) return endpoint;
  if (typeof signingFile !== 'string') {
    throw new InvalidInput(`${name} must be the path of a file. The value is hidden.`);
  }
  return { ...endpoint, signing: (await secretsIn(name, signingFile)) as SigningOptions };
}

/** Never shows the content of the file. */
async function secretsIn(name: string, file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new InvalidInput(
      `${name}: ${shownPath(file)} cannot be read (${cause.code}). Pass a file that this user can read.`,
    );
  });
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidInput(`${name}: ${shownPath(file)} is not valid JSON.`);
  }
}
