// The part of etcd's API that the store uses, with the field numbers of etcd's public rpc.proto and
// kv.proto (3.4, unchanged since). Names follow etcd's, in camel case.

import {
  decode,
  encode,
  type ReceivedMessage,
  type SentMessage,
  type Shape,
} from '../../support/protobuf.ts';

const HEADER = {
  clusterId: { no: 1, kind: 'id' },
  memberId: { no: 2, kind: 'id' },
  /** The revision of the whole store when it replied. */
  revision: { no: 3, kind: 'int' },
  raftTerm: { no: 4, kind: 'int' },
} as const;

export type Header = ReceivedMessage<typeof HEADER>;

const KEY_VALUE = {
  key: { no: 1, kind: 'bytes' },
  createRevision: { no: 2, kind: 'int' },
  modRevision: { no: 3, kind: 'int' },
  value: { no: 5, kind: 'bytes' },
  /** The native lease that the key is bound to; '0' for none. */
  lease: { no: 6, kind: 'id' },
} as const;

export type KeyValue = ReceivedMessage<typeof KEY_VALUE>;

const RANGE_REQUEST = {
  key: { no: 1, kind: 'bytes' },
  /** The exclusive end of the range that starts at `key`. */
  rangeEnd: { no: 2, kind: 'bytes', optional: true },
  limit: { no: 3, kind: 'int', optional: true },
  /** Reads the keys as of this revision. */
  revision: { no: 4, kind: 'int', optional: true },
  keysOnly: { no: 8, kind: 'bool', optional: true },
} as const;

export type RangeRequest = SentMessage<typeof RANGE_REQUEST>;

const RANGE_RESPONSE = {
  header: { no: 1, kind: HEADER },
  kvs: { no: 2, kind: KEY_VALUE, many: true },
} as const;

const PUT_REQUEST = {
  key: { no: 1, kind: 'bytes' },
  value: { no: 2, kind: 'bytes' },
  lease: { no: 3, kind: 'id', optional: true },
} as const;

const REQUEST_OP = {
  range: { no: 1, kind: RANGE_REQUEST, optional: true },
  put: { no: 2, kind: PUT_REQUEST, optional: true },
  deleteRange: { no: 3, kind: { key: { no: 1, kind: 'bytes' } }, optional: true },
} as const;

export type RequestOp = SentMessage<typeof REQUEST_OP>;

const COMPARE = {
  result: { no: 1, kind: 'int' },
  target: { no: 2, kind: 'int' },
  key: { no: 3, kind: 'bytes' },
  createRevision: { no: 5, kind: 'int', optional: true },
  modRevision: { no: 6, kind: 'int', optional: true },
  rangeEnd: { no: 64, kind: 'bytes', optional: true },
} as const;

export type Compare = SentMessage<typeof COMPARE>;

/** The comparisons of a Compare. */
export const EQUAL = 0;
export const LESS = 2;
/** The field that a Compare reads. Both are zero for a key that does not exist. */
export const CREATE_REVISION = 1;
export const MOD_REVISION = 2;

const TXN_REQUEST = {
  compare: { no: 1, kind: COMPARE, many: true },
  success: { no: 2, kind: REQUEST_OP, many: true },
  failure: { no: 3, kind: REQUEST_OP, many: true },
} as const;

export type TxnRequest = SentMessage<typeof TXN_REQUEST>;

const TXN_RESPONSE = {
  header: { no: 1, kind: HEADER },
  succeeded: { no: 2, kind: 'bool' },
  responses: { no: 3, kind: { range: { no: 1, kind: RANGE_RESPONSE } }, many: true },
} as const;

export type TxnResponse = ReceivedMessage<typeof TXN_RESPONSE>;

const KEEP_ALIVE_REQUEST = { id: { no: 1, kind: 'id' } } as const;

export type LeaseKeepAliveRequest = SentMessage<typeof KEEP_ALIVE_REQUEST>;

const LEASE_RESPONSE = {
  header: { no: 1, kind: HEADER },
  id: { no: 2, kind: 'id' },
  /** Zero if the lease no longer exists. */
  ttl: { no: 3, kind: 'int' },
} as const;

export type LeaseKeepAliveResponse = ReceivedMessage<typeof LEASE_RESPONSE>;

const WATCH_REQUEST = {
  create: {
    no: 1,
    kind: {
      key: { no: 1, kind: 'bytes' },
      rangeEnd: { no: 2, kind: 'bytes' },
      startRevision: { no: 3, kind: 'int' },
    },
  },
} as const;

export type WatchRequest = SentMessage<typeof WATCH_REQUEST>;

const WATCH_RESPONSE = {
  header: { no: 1, kind: HEADER },
  canceled: { no: 4, kind: 'bool' },
  /**
   * If not zero, etcd compacted everything before this revision, including part of what the watch
   * asked for.
   */
  compactRevision: { no: 5, kind: 'int' },
  events: {
    no: 11,
    /** The type is zero for a put, one for a deletion. */
    kind: { type: { no: 1, kind: 'int' }, kv: { no: 2, kind: KEY_VALUE } },
    many: true,
  },
} as const;

export type WatchResponse = ReceivedMessage<typeof WATCH_RESPONSE>;

const STATUS_RESPONSE = {
  header: { no: 1, kind: HEADER },
  version: { no: 2, kind: 'text' },
  /** The leader, as far as the queried member knows. */
  leader: { no: 4, kind: 'id' },
} as const;

const MEMBER_LIST_RESPONSE = {
  header: { no: 1, kind: HEADER },
  members: { no: 2, kind: { id: { no: 1, kind: 'id' } }, many: true },
} as const;

/** One call of the API: its path, and the encoding of its request and response. */
export interface GrpcMethod<Request extends object, Response> {
  readonly path: string;
  encode(request: Request): Buffer;
  decode(bytes: Buffer): Response;
}

function method<Request extends Shape, Response extends Shape>(
  path: string,
  request: Request,
  response: Response,
): GrpcMethod<SentMessage<Request>, ReceivedMessage<Response>> {
  return {
    path: `/etcdserverpb.${path}`,
    encode: (message) => encode(request, message),
    decode: (bytes) => decode<ReceivedMessage<Response>>(response, bytes),
  };
}

export const TXN = method('KV/Txn', TXN_REQUEST, TXN_RESPONSE);
export const RANGE = method('KV/Range', RANGE_REQUEST, RANGE_RESPONSE);
export const LEASE_GRANT = method(
  'Lease/LeaseGrant',
  { ttl: { no: 1, kind: 'int' } } as const,
  LEASE_RESPONSE,
);
export const LEASE_KEEP_ALIVE = method('Lease/LeaseKeepAlive', KEEP_ALIVE_REQUEST, LEASE_RESPONSE);
export const WATCH = method('Watch/Watch', WATCH_REQUEST, WATCH_RESPONSE);
export const STATUS = method('Maintenance/Status', {}, STATUS_RESPONSE);
export const MEMBER_LIST = method('Cluster/MemberList', {}, MEMBER_LIST_RESPONSE);
