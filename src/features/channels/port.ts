// The port of channels and their messages (docs/spec/channels.md).

import type { ProjectName } from '../../execution/names.ts';
import type { PutWithinQuota } from '../access/model.ts';
import type { Audited } from '../audit/model.ts';
import type { AlertReading } from './alerts-model.ts';
import type {
  AfterAttempt,
  Channel,
  ChannelContent,
  DeliveryRecord,
  DeliveryState,
  SecretName,
} from './model.ts';

export interface ChannelStore {
  /** Creates it, or replaces its content if that differs. The secret of an existing one stays. */
  putChannel(request: PutChannel): Promise<PutWithinQuota>;
  channel(named: NamedChannel): Promise<Channel | undefined>;
  /** Sorted by id. */
  channels(query: ListChannels): Promise<readonly Channel[]>;
  /** Messages that are not delivered yet are never delivered. */
  removeChannel(request: ChangeChannel): Promise<{ readonly kind: 'done' | 'no-change' }>;
  /** Gives it another secret. The one before stays valid for a while. */
  rotateChannel(request: RotateChannel): Promise<ChannelRotated>;
  /** Writes a test message. */
  testChannel(request: TestChannel): Promise<{ readonly kind: 'done' | 'unknown' }>;
  /** Newest first. */
  deliveries(query: ListDeliveries): Promise<readonly DeliveryRecord[]>;
  /** Makes messages pending again: one that is over, or the failed ones, oldest first. */
  replayDeliveries(request: ReplayDeliveries): Promise<DeliveriesReplayed>;
  /** The channels that have a message to send now, and whether there are channels at all. */
  dueChannels(): Promise<DueChannels>;
  /** Takes messages that are due. Until `leaseMs` are over, no other caller gets them. */
  claimDeliveries(request: ClaimDeliveries): Promise<ClaimedDeliveries | undefined>;
  /** Records attempts, except of messages that another caller has claimed since. */
  recordDeliveries(request: RecordDeliveries): Promise<readonly string[]>;
  /** Deletes messages that are older, a page at a time. */
  removeDeliveries(request: RemoveDeliveries): Promise<{ readonly more: boolean }>;
  /** Takes channels whose alerts are due. Until `leaseMs` are over, no other caller gets them. */
  claimAlerts(request: ClaimAlerts): Promise<readonly AlertRound[]>;
  /** Raises and clears alerts, unless another caller has claimed the channel since. */
  recordAlerts(request: RecordAlerts): Promise<AlertsRecorded>;
}

export interface NamedChannel {
  readonly project: ProjectName;
  readonly id: string;
}

export interface ChangeChannel extends NamedChannel, Audited {}

export interface PutChannel extends ChangeChannel, ChannelContent {
  /** For a new channel. */
  readonly uid: string;
  readonly secret: SecretName;
  readonly putBy?: string;
  /** The limit of channels, unless the project's own settings differ (P-14). */
  readonly quota?: number;
}

export interface ListChannels {
  readonly project: ProjectName;
  /** Continues after this id. */
  readonly after?: string;
  readonly limit: number;
}

export interface RotateChannel extends ChangeChannel {
  readonly secret: SecretName;
  readonly overlapMs: number;
}

export type ChannelRotated =
  | { readonly kind: 'rotated'; readonly channel: Channel }
  | { readonly kind: 'unknown' }
  /** The previous secret is still valid. Nothing was written. */
  | { readonly kind: 'overlaps'; readonly channel: Channel };

export interface TestChannel extends ChangeChannel {
  /** The id of the message. */
  readonly message: string;
}

export interface ListDeliveries extends NamedChannel {
  readonly state?: DeliveryState;
  /** Continues before this message. */
  readonly before?: { readonly at: number; readonly id: string };
  readonly limit: number;
}

export interface ReplayDeliveries extends ChangeChannel {
  /** Only this message. */
  readonly message?: string;
  readonly limit: number;
}

export type DeliveriesReplayed =
  | { readonly kind: 'replayed'; readonly count: number }
  | { readonly kind: 'unknown' };

export interface DueChannels {
  readonly due: readonly (NamedChannel & Pick<Channel, 'uid'>)[];
  /** False: there is no channel at all. */
  readonly hasAny: boolean;
}

export interface ClaimDeliveries {
  readonly uid: string;
  readonly limit: number;
  readonly leaseMs: number;
}

export interface ClaimedDeliveries {
  readonly channel: Channel;
  readonly deliveries: readonly DeliveryRecord[];
}

export interface RecordDeliveries {
  readonly channel: Pick<Channel, 'uid'>;
  readonly attempts: readonly (AfterAttempt & Pick<DeliveryRecord, 'id' | 'attempts'>)[];
  /** Failed attempts to add to those in a row; zero after a success, which ends the row. */
  readonly failures: number;
  readonly cooldownMs: number;
  /** The receiver asked for no more messages. */
  readonly pauses: boolean;
}

export interface RemoveDeliveries {
  readonly olderThanMs: number;
  readonly limit: number;
}

export interface ClaimAlerts {
  readonly limit: number;
  readonly leaseMs: number;
}

/** One evaluation of the alerts of one channel. */
export interface AlertRound {
  readonly channel: Channel;
  /** The fence: the next claim of the channel, or a change of its content, has a higher one. */
  readonly round: number;
}

export interface RecordAlerts {
  readonly channel: Pick<Channel, 'uid'>;
  readonly round: number;
  /** The time until the next round. */
  readonly everyMs: number;
  /** Each raises an alert unless its rule has one for its route. `incident` is for a new one. */
  readonly over: readonly (AlertReading & { readonly incident: string })[];
  /** Each keeps its alert. */
  readonly near: readonly AlertReading[];
}

export type AlertsRecorded =
  | { readonly kind: 'recorded'; readonly raised: number; readonly cleared: number }
  /** Another caller has claimed the channel, or it has changed. Nothing was written. */
  | { readonly kind: 'stale' };
