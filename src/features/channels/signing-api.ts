// Secrets and signatures of webhooks, as in Standard Webhooks. The coordinator derives the secret
// of a channel from one of its keys and the nonce of the channel, so a copy of the database is not
// enough to sign.
//
// signature = base64(HMAC-SHA256(secret, id "." seconds "." body))

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, formatInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { readHidden } from '../../support/hidden-options.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  readList,
  readOptions,
  requireMethods,
} from '../../support/options.ts';
import { secureBytes } from '../../support/random.ts';
import { type Allowed, requireAllowed } from '../../support/safe-address.ts';
import { isAmongQueues, type SqsClient } from '../../support/sqs.ts';
import { checkedKeys, type LinkOptions } from '../awaits/links-api.ts';
import type { Channel, DeliveryRecord, SecretName } from './model.ts';

/** Channels of a coordinator. */
export interface ChannelOptions {
  /**
   * Keys from which the coordinator derives the secrets of channels. Removing a key ends the
   * secrets that it derived from that key.
   */
  readonly signing: LinkOptions;
  /**
   * Addresses that channels may have. `hosts` are names, such as `api.example.com` or
   * `*.example.com`; by default any. `privateAddresses` and `http` (HTTP without TLS) default to
   * false.
   */
  readonly allow?: {
    readonly hosts?: readonly string[];
    readonly privateAddresses?: boolean;
    readonly http?: boolean;
  };
  /**
   * Queues that channels of the kind `sqs` may have: a `client` of yours and the URLs in `queues`. One
   * that ends in `*` allows all that start with it, and `{project}` stands for the channel's project.
   * By default there are none. Signed answers to questions are read from the queue `answersQueueUrl`.
   */
  readonly sqs?: {
    readonly client: SqsClient;
    readonly queues?: readonly string[];
    readonly answersQueueUrl?: string;
  };
  /** Time limit of one attempt in milliseconds. Default 15,000. */
  readonly timeoutMs?: number;
  /** Days that messages and their log are kept. Default 30. */
  readonly keepDays?: number;
  /** Time between two checks of the alerts of a channel, in milliseconds. Default 30,000. */
  readonly alertsEveryMs?: number;
}

const NONCE_BYTES = 18;
const HOST_MAX = 256;
const QUEUE_MAX = 2_048;

/** The secrets of channels. */
export class ChannelSecrets {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #current: string;

  constructor(options: LinkOptions) {
    ({ keys: this.#keys, current: this.#current } = checkedKeys('channels: signing', options));
  }

  next(): SecretName {
    return {
      key: this.#current,
      nonce: Buffer.from(secureBytes(NONCE_BYTES)).toString('base64url'),
    };
  }

  /** Undefined if this coordinator does not have the key. */
  textOf(name: SecretName): string | undefined {
    const bytes = this.#bytesOf(name);
    return bytes && `whsec_${bytes.toString('base64')}`;
  }

  /** A signature by each secret that is valid at `nowMs`; none if this coordinator lacks the key. */
  sign(channel: Pick<Channel, 'secret' | 'previous'>, signed: string, nowMs: number): string {
    return this.#signatures(channel, signed, nowMs).join(' ');
  }

  /** True if one of the signatures, with spaces between them, is by a secret that is valid. */
  verifies(
    channel: Pick<Channel, 'secret' | 'previous'>,
    given: { readonly signed: string; readonly signature: string; readonly nowMs: number },
  ): boolean {
    const { signed, signature, nowMs } = given;
    const own = this.#signatures(channel, signed, nowMs).map((each) => Buffer.from(each));
    const theirs = signature.split(' ').map((each) => Buffer.from(each));
    return theirs.some((each) =>
      own.some((one) => one.length === each.length && timingSafeEqual(one, each)),
    );
  }

  #signatures(
    { secret, previous }: Pick<Channel, 'secret' | 'previous'>,
    signed: string,
    nowMs: number,
  ): readonly string[] {
    const isOverlapping = previous !== undefined && previous.until > nowMs;
    const names = isOverlapping ? [secret, previous.secret] : [secret];
    return names.flatMap((name) => {
      const bytes = this.#bytesOf(name);
      return bytes ? [`v1,${createHmac('sha256', bytes).update(signed).digest('base64')}`] : [];
    });
  }

  #bytesOf({ key, nonce }: SecretName): Buffer | undefined {
    const own = this.#keys.get(key);
    return own && createHmac('sha256', own).update(`channel ${nonce}`).digest();
  }
}

export interface ChannelSettings {
  readonly secrets: ChannelSecrets;
  readonly allowed: Allowed;
  readonly sqs?: NonNullable<ChannelOptions['sqs']> & { readonly queues: readonly string[] };
  readonly timeoutMs: number;
  readonly keepDays: number;
  readonly alertsEveryMs: number;
}

export function channelSettingsOf(given: ChannelOptions): ChannelSettings {
  const what = 'openServer: channels';
  const options = readHidden(what, given, [
    ...['signing', 'allow', 'sqs', 'timeoutMs', 'keepDays', 'alertsEveryMs'],
  ]);
  const allow = readOptions(`${what}.allow`, options.allow === undefined ? {} : options.allow, [
    ...(['hosts', 'privateAddresses', 'http'] as const),
  ]);
  const { privateAddresses = false, http = false, hosts = ['*'] } = allow;
  optionalBooleans(`${what}.allow`, { privateAddresses, http });
  const { keepDays = 30, timeoutMs = 15_000, alertsEveryMs = 30_000 } = options;
  return {
    secrets: new ChannelSecrets(options.signing),
    allowed: {
      hosts: readList(`${what}.allow.hosts`, hosts).map((each) =>
        boundedText(`${what}.allow.hosts`, each, HOST_MAX),
      ),
      ...{ privateAddresses, http, setting: 'channels.allow' },
    },
    ...(options.sqs !== undefined && { sqs: queuesIn(`${what}.sqs`, options.sqs) }),
    timeoutMs: integerOption(`${what}.timeoutMs`, timeoutMs, { min: 100, max: 60_000 }),
    keepDays: integerOption(`${what}.keepDays`, keepDays, { min: 1, max: 3_660 }),
    alertsEveryMs: integerOption(`${what}.alertsEveryMs`, alertsEveryMs, {
      ...{ min: 1_000, max: 3_600_000 },
    }),
  };
}

function queuesIn(what: string, given: NonNullable<ChannelOptions['sqs']>) {
  const names = ['client', 'queues', 'answersQueueUrl'] as const;
  const { client, queues = [], answersQueueUrl } = readOptions(what, given, names);
  requireMethods(`${what}.client`, client, ['send']);
  const urls = readList(`${what}.queues`, queues);
  return {
    client,
    queues: urls.map((each) => boundedText(`${what}.queues`, each, QUEUE_MAX)),
    ...(answersQueueUrl !== undefined && {
      answersQueueUrl: boundedText(`${what}.answersQueueUrl`, answersQueueUrl, QUEUE_MAX),
    }),
  };
}

/** Throws if the coordinator may not send to the channel (CH-10, CH-13). */
export function requireTarget(
  { kind, url, project }: Pick<Channel, 'kind' | 'url' | 'project'>,
  { allowed, sqs }: Pick<ChannelSettings, 'allowed' | 'sqs'>,
): void {
  if (kind === 'webhook') {
    requireAllowed('url', url, allowed);
    return;
  }
  const queues = (sqs?.queues ?? []).map((each) => each.replaceAll('{project}', project));
  if (isAmongQueues(url, queues)) return;
  throw new InvalidInput(
    'url is not a queue that channels of this project may have. Add it to channels.sqs.queues.',
  );
}

/** The parts of a message that its receiver checks, by their names as headers. */
export function signedMessage(
  { secrets, clock }: Pick<ChannelSettings, 'secrets'> & { readonly clock: Pick<Clock, 'wallMs'> },
  channel: Channel,
  delivery: DeliveryRecord,
): { readonly text: string; readonly headers: Readonly<Record<string, string>> } {
  const { project } = channel;
  const { id, event, at, data } = delivery;
  const text = JSON.stringify({
    ...{ type: event, timestamp: formatInstant(at), data: { project, ...data } },
  });
  const nowMs = clock.wallMs();
  const seconds = String(Math.floor(nowMs / 1_000));
  const signature = secrets.sign(channel, `${id}.${seconds}.${text}`, nowMs);
  if (signature === '') {
    throw new InvalidInput(
      `the key ${channel.secret.key} is not among the keys of this coordinator`,
    );
  }
  return {
    text,
    headers: {
      ...{ 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature },
    },
  };
}
