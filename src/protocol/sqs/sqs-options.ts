// The options of a coordinator for its SQS queues.

import { type ProjectName, parseProject } from '../../execution/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import { readHidden, readHiddenEntries } from '../../support/hidden-options.ts';
import {
  boundedText,
  integerOption,
  readList,
  readOptions,
  requireMethods,
  wordsIn,
} from '../../support/options.ts';
import type { SqsClient } from '../../support/sqs.ts';
import { isSameSecret, Signer } from '../messages/signing.ts';

/** A signing key of workers. */
export interface SqsKey {
  /** The secret, at least 32 bytes. The workers have it too. */
  readonly secret: string | Uint8Array;
  /** The project of its workers. Default `default`. */
  readonly project?: string;
  /**
   * Which of `replyQueues` its workers use. By default all. Keys of different projects should not
   * share one.
   */
  readonly replyQueues?: readonly string[];
  /**
   * The queue to which its workers send requests. Default: the queue of all coordinators. Messages
   * of a project delay those of other projects in the same queue.
   */
  readonly requestQueueUrl?: string;
}

/** SQS queues of a coordinator. */
export interface SqsOptions {
  /** An `SQSClient` of `@aws-sdk/client-sqs` with your region and credentials. You destroy it. */
  readonly client: SqsClient;
  /** The queue of all coordinators, for keys without a queue of their own. */
  readonly requestQueueUrl: string;
  /** The queue for messages that no coordinator can handle. */
  readonly poisonQueueUrl: string;
  /** URLs of reply queues; one that ends in `*` allows all that start with it. */
  readonly replyQueues: readonly string[];
  /**
   * Signing keys by id. To rotate one: add the new key here, then to the workers, then remove the
   * old one.
   */
  readonly keys: Readonly<Record<string, SqsKey>>;
  /** Milliseconds after which a message that was not handled is delivered again. Default 30,000. */
  readonly visibleMs?: number;
}

const NAMES: readonly (keyof SqsOptions)[] = wordsIn(
  'client requestQueueUrl poisonQueueUrl replyQueues keys visibleMs',
);
const KEY_NAMES: readonly (keyof SqsKey)[] = wordsIn('secret project replyQueues requestQueueUrl');
const URL_MAX = 2_048;

export function readSqsOptions(given: SqsOptions): SqsOptions {
  const options = readOptions('openServer: sqs', given, NAMES);
  const { client, requestQueueUrl, poisonQueueUrl, visibleMs } = options;
  requireMethods('openServer: sqs.client', client, ['send']);
  boundedText('openServer: sqs.requestQueueUrl', requestQueueUrl, URL_MAX);
  boundedText('openServer: sqs.poisonQueueUrl', poisonQueueUrl, URL_MAX);
  const replyQueues = queuesIn('openServer: sqs.replyQueues', options.replyQueues);
  if (visibleMs !== undefined) {
    integerOption('openServer: sqs.visibleMs', visibleMs, { min: 1_000, max: 43_200_000 });
  }
  signingKeys(options.keys);
  return { ...options, replyQueues };
}

export interface KnownKeys {
  readonly signer: Signer;
  projectOf(kid: string): ProjectName;
  /** Undefined if it has none of its own. */
  replyQueuesOf(kid: string): readonly string[] | undefined;
  /** Undefined if it has none of its own. */
  requestQueueOf(kid: string): string | undefined;
  /** The request queues of single keys. */
  readonly requestQueues: ReadonlySet<string>;
}

export function signingKeys(given: SqsOptions['keys']): KnownKeys {
  const what = 'openServer: sqs.keys';
  const shape = '{ k1: { secret, project } }';
  const entries = readHiddenEntries(what, given, shape).map(([id, key], index) => {
    const nth = `${what}: key ${index + 1}`;
    const read = readHidden(nth, key as SqsKey, KEY_NAMES);
    const { secret, project, replyQueues, requestQueueUrl } = read;
    const queues = replyQueues === undefined ? undefined : ownQueuesIn(nth, replyQueues);
    const [requests] = requestQueueUrl === undefined ? [] : ownQueuesIn(nth, [requestQueueUrl]);
    return { id, secret, project: projectIn(nth, project), queues, requests };
  });
  const [first] = entries;
  if (first === undefined) throw new InvalidInput(`${what} must have at least one key.`);
  const keys = Object.fromEntries(entries.map(({ id, secret }) => [id, secret]));
  const signer = new Signer(what, { keys, current: first.id });
  requireOwnSecrets(what, entries);
  const projects = new Map(entries.map(({ id, project }) => [id, project]));
  const queues = new Map(entries.map((each) => [each.id, each.queues]));
  const requests = new Map(entries.map((each) => [each.id, each.requests]));
  return {
    replyQueuesOf: (kid) => queues.get(kid),
    requestQueueOf: (kid) => requests.get(kid),
    requestQueues: new Set(entries.flatMap((each) => each.requests ?? [])),
    signer,
    // The caller passes only ids of keys that verified a signature.
    projectOf: (kid) => projects.get(kid) ?? first.project,
  };
}

/**
 * The id of the key identifies the sender's project. A holder of another project's secret would
 * pass for that project.
 */
function requireOwnSecrets(
  what: string,
  entries: readonly Pick<Required<SqsKey>, 'secret' | 'project'>[],
): void {
  for (const [nth, { secret, project }] of entries.entries()) {
    const same = entries.findIndex(
      (each, index) =>
        index > nth &&
        each.project !== project &&
        isSameSecret(Buffer.from(each.secret as string), Buffer.from(secret as string)),
    );
    if (same < 0) continue;
    throw new InvalidInput(
      `${what}: keys ${nth + 1} and ${same + 1} have the same secret and belong to two projects, so workers of one could act for the other. Give each its own secret.`,
    );
  }
}

function queuesIn(what: string, given: unknown): readonly string[] {
  return readList(what, given).map((each) => boundedText(what, each, URL_MAX));
}

function ownQueuesIn(what: string, given: unknown): readonly string[] {
  try {
    return queuesIn(what, given);
  } catch {
    throw new InvalidInput(
      `${what}: replyQueues must be a list of URLs, and requestQueueUrl one URL. The value is hidden.`,
    );
  }
}

function projectIn(what: string, project: unknown = 'default'): ProjectName {
  try {
    return parseProject(project as string);
  } catch {
    throw new InvalidInput(`${what}: project must be the name of a project. The value is hidden.`);
  }
}
