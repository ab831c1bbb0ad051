// Channels: the endpoints to which a project announces its events (CH-1 … CH-17). A message is
// written in the transaction in which it happens, and delivered at least once under an id that
// stays the same.

import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { jittered, type Random } from '../../support/random.ts';
import type { AlertLimits } from './alerts-model.ts';

/** The events that a channel can announce. */
export const CHANNEL_EVENTS = [
  ...(['execution-ended', 'dead-letter-created'] as const),
  ...(['question-opened', 'question-reminded', 'question-answered', 'question-expired'] as const),
  ...(['release-changed', 'lease-lost', 'alert-raised', 'alert-cleared'] as const),
] as const;

export type ChannelEvent = (typeof CHANNEL_EVENTS)[number];

/** An await announces at most this many of its questions, as the triggers do (CH-12). */
export const ANNOUNCED_QUESTIONS = 100;

/** The event of a test message, which no channel needs to ask for. */
export const TEST_EVENT = 'test';

export const CHANNEL_KINDS = ['webhook', 'sqs'] as const;

export type ChannelKind = (typeof CHANNEL_KINDS)[number];

/** Names a secret, which a coordinator derives from a key of its own. The name is not secret. */
export interface SecretName {
  /** The id of the coordinator's key. */
  readonly key: string;
  readonly nonce: string;
}

/** The content that a caller chooses. */
export interface ChannelContent {
  readonly kind: ChannelKind;
  readonly url: string;
  readonly events: readonly ChannelEvent[];
  /** True: messages are written and wait. */
  readonly paused: boolean;
  /** By default those of `DEFAULT_ALERTS`. They matter only if the channel asks for alerts. */
  readonly alerts?: AlertLimits;
  /** True: its secret also signs answers to questions of its project. Default false. */
  readonly answers?: boolean;
}

export interface Channel extends ChannelContent {
  readonly project: ProjectName;
  readonly id: string;
  /** Differs if a channel was removed and created again. */
  readonly uid: string;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** The circuit is open until then. */
  readonly openUntil?: Instant;
  readonly secret: SecretName;
  /** The previous secret, which also signs until `until`. */
  readonly previous?: { readonly secret: SecretName; readonly until: Instant };
  readonly createdAt: Instant;
  readonly changedAt: Instant;
  readonly putBy?: string;
}

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One message of one channel, and the state of its delivery. */
export interface DeliveryRecord {
  /** The id of the message: the same for each attempt, each replay and each channel. */
  readonly id: string;
  readonly event: ChannelEvent | typeof TEST_EVENT;
  /** When it happened. */
  readonly at: Instant;
  readonly data: Readonly<Record<string, unknown>>;
  readonly state: DeliveryState;
  /** Attempts that began. One without an entry in `log` got no reply before its coordinator ended. */
  readonly attempts: number;
  /** Failed attempts since it was written or replayed. */
  readonly failed: number;
  /** The next attempt; for one under way, when another coordinator may repeat it. */
  readonly nextAt?: Instant;
  readonly doneAt?: Instant;
  /** The last attempts, oldest first. */
  readonly log: readonly DeliveryAttempt[];
}

export interface DeliveryAttempt {
  readonly at: Instant;
  /** How long it took. */
  readonly ms: number;
  /** The HTTP status, if there was a reply. */
  readonly status?: number;
  /** Why it failed. */
  readonly error?: string;
}

// Retries. Each wait varies, so that the receiver does not get all failed messages at once.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The waits between attempts. After the last one the message has failed. */
export const RETRY_MS: readonly number[] = [
  ...[5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE],
  ...[HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR],
];

const RETRY_SPREAD = 0.2;
const LOG_MAX = 10;

/** The next state of a message whose attempt is over. */
export interface AfterAttempt {
  readonly state: DeliveryState;
  readonly failed: number;
  readonly nextInMs?: number;
  readonly log: readonly DeliveryAttempt[];
}

export function decideAfterAttempt(
  { failed, log }: Pick<DeliveryRecord, 'failed' | 'log'>,
  attempt: DeliveryAttempt,
  random: Random,
): AfterAttempt {
  const known = [...log, attempt].slice(-LOG_MAX);
  if (attempt.error === undefined) return { state: 'delivered', failed: 0, log: known };
  const waitMs = RETRY_MS[failed];
  const counted = { failed: failed + 1, log: known };
  if (waitMs === undefined) return { state: 'failed', ...counted };
  const nextInMs = Math.round(jittered(random, waitMs, RETRY_SPREAD));
  return { state: 'pending', ...counted, nextInMs };
}

// The circuit of an endpoint. While it is open, no message is tried, so an outage uses up no attempts.

export const FAILURES_MAX = 5;
const COOLDOWN_MS = 10 * SECOND;
const COOLDOWN_MAX_MS = 10 * MINUTE;

/** The pause after `failures` failed attempts in a row. Each further failure doubles it. */
export function cooldownMs(failures: number): number {
  return Math.min(COOLDOWN_MAX_MS, COOLDOWN_MS * 2 ** Math.max(0, failures - FAILURES_MAX));
}

/** Messages of one channel that are sent at once: one only after a failure. */
export function roomOf({ failures }: Pick<Channel, 'failures'>, most: number): number {
  return failures === 0 ? most : 1;
}
