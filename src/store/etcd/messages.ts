// The part of etcd's API that the store uses, with the field numbers of etcd's public rpc.proto and
// kv.proto (3.4, unchanged since). Names are theirs, in our spelling.

import { decode, encode, type Shape } from '../../support/protobuf.ts';

export interface Header {
  readonly clusterId: string;
  readonly memberId: string;
  /** Of the whole store, when it answered. */
  readonly revision: number;
  readonly raftTerm: number;
}

export interface KeyValue {
  readonly key: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Buffer;
  /** The native lease it goes with; '0' for none. */
  readonly lease: string;
}

export interface RangeRequest {
  readonly key: Uint8Array;
  /** All keys from `key` up to this one, without it. */
  readonly rangeEnd?: Uint8Array;
  readonly limit?: number;
  /** As it was then. */
  readonly revision?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  readonly header?: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

export interface PutRequest {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly lease?: string;
}

export interface DeleteRangeRequest {
  readonly key: Uint8Array;
}

export interface RequestOp {
  readonly range?: RangeRequest;
  readonly put?: PutRequest;
  readonly deleteRange?: DeleteRangeRequest;
}

export interface Compare {
  readonly result: number;
  readonly target: number;
  readonly key: Uint8Array;
  readonly createRevision?: number;
  readonly modRevision?: number;
  readonly rangeEnd?: Uint8Array;
}

/** How a Compare compares. */
export const EQUAL = 0;
export const LESS = 2;
/** What of a key a Compare looks at; of a key that is not there both are zero. */
export const CREATE_REVISION = 1;
export const MOD_REVISION = 2;

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface TxnResponse {
  readonly header?: Header;
  readonly succeeded: boolean;
  readonly responses: readonly { readonly range?: RangeResponse }[];
}

export interface LeaseGrantRequest {
  readonly ttl: number;
}

export interface LeaseGrantResponse {
  readonly header?: Header;
  readonly id: string;
  readonly ttl: number;
  readonly error: string;
}

export interface LeaseKeepAliveRequest {
  readonly id: string;
}

export interface LeaseKeepAliveResponse {
  readonly header?: Header;
  readonly id: string;
  /** Zero when there is no such lease any more. */
  readonly ttl: number;
}

export interface WatchRequest {
  readonly create: {
    readonly key: Uint8Array;
    readonly rangeEnd: Uint8Array;
    readonly startRevision: number;
  };
}

export interface WatchResponse {
  readonly header?: Header;
  readonly created: boolean;
  readonly canceled: boolean;
  /** Not zero: everything before it was compacted, and the watch asked for something of that. */
  readonly compactRevision: number;
  readonly cancelReason: string;
  readonly events: readonly WatchEvent[];
}

export interface WatchEvent {
  /** Zero for a put, one for a deletion. */
  readonly type: number;
  readonly kv?: KeyValue;
}

export interface StatusResponse {
  readonly header?: Header;
  readonly version: string;
  /** The member that leads, as far as the one that was asked knows. */
  readonly leader: string;
}

export interface MemberListResponse {
  readonly header?: Header;
  readonly members: readonly object[];
}

const HEADER: Shape = {
  clusterId: { no: 1, kind: 'id' },
  memberId: { no: 2, kind: 'id' },
  revision: { no: 3, kind: 'int' },
  raftTerm: { no: 4, kind: 'int' },
};

const KEY_VALUE: Shape = {
  key: { no: 1, kind: 'bytes' },
  createRevision: { no: 2, kind: 'int' },
  modRevision: { no: 3, kind: 'int' },
  value: { no: 5, kind: 'bytes' },
  lease: { no: 6, kind: 'id' },
};

const RANGE_REQUEST: Shape = {
  key: { no: 1, kind: 'bytes' },
  rangeEnd: { no: 2, kind: 'bytes' },
  limit: { no: 3, kind: 'int' },
  revision: { no: 4, kind: 'int' },
  keysOnly: { no: 8, kind: 'bool' },
  countOnly: { no: 9, kind: 'bool' },
};

const RANGE_RESPONSE: Shape = {
  header: { no: 1, kind: HEADER },
  kvs: { no: 2, kind: KEY_VALUE, many: true },
  more: { no: 3, kind: 'bool' },
  count: { no: 4, kind: 'int' },
};

const PUT_REQUEST: Shape = {
  key: { no: 1, kind: 'bytes' },
  value: { no: 2, kind: 'bytes' },
  lease: { no: 3, kind: 'id' },
};

const REQUEST_OP: Shape = {
  range: { no: 1, kind: RANGE_REQUEST },
  put: { no: 2, kind: PUT_REQUEST },
  deleteRange: { no: 3, kind: { key: { no: 1, kind: 'bytes' } } },
};

const COMPARE: Shape = {
  result: { no: 1, kind: 'int' },
  target: { no: 2, kind: 'int' },
  key: { no: 3, kind: 'bytes' },
  createRevision: { no: 5, kind: 'int' },
  modRevision: { no: 6, kind: 'int' },
  rangeEnd: { no: 64, kind: 'bytes' },
};

const TXN_REQUEST: Shape = {
  compare: { no: 1, kind: COMPARE, many: true },
  success: { no: 2, kind: REQUEST_OP, many: true },
  failure: { no: 3, kind: REQUEST_OP, many: true },
};

const TXN_RESPONSE: Shape = {
  header: { no: 1, kind: HEADER },
  succeeded: { no: 2, kind: 'bool' },
  responses: { no: 3, kind: { range: { no: 1, kind: RANGE_RESPONSE } }, many: true },
};

const LEASE_GRANT_REQUEST: Shape = { ttl: { no: 1, kind: 'int' } };

const LEASE_GRANT_RESPONSE: Shape = {
  header: { no: 1, kind: HEADER },
  id: { no: 2, kind: 'id' },
  ttl: { no: 3, kind: 'int' },
  error: { no: 4, kind: 'text' },
};

const KEEP_ALIVE_REQUEST: Shape = { id: { no: 1, kind: 'id' } };

const KEEP_ALIVE_RESPONSE: Shape = {
  header: { no: 1, kind: HEADER },
  id: { no: 2, kind: 'id' },
  ttl: { no: 3, kind: 'int' },
};

const WATCH_REQUEST: Shape = {
  create: {
    no: 1,
    kind: {
      key: { no: 1, kind: 'bytes' },
      rangeEnd: { no: 2, kind: 'bytes' },
      startRevision: { no: 3, kind: 'int' },
    },
  },
};

const WATCH_RESPONSE: Shape = {
  header: { no: 1, kind: HEADER },
  created: { no: 3, kind: 'bool' },
  canceled: { no: 4, kind: 'bool' },
  compactRevision: { no: 5, kind: 'int' },
  cancelReason: { no: 6, kind: 'text' },
  events: {
    no: 11,
    kind: { type: { no: 1, kind: 'int' }, kv: { no: 2, kind: KEY_VALUE } },
    many: true,
  },
};

const STATUS_RESPONSE: Shape = {
  header: { no: 1, kind: HEADER },
  version: { no: 2, kind: 'text' },
  leader: { no: 4, kind: 'id' },
};

const MEMBER_LIST_RESPONSE: Shape = {
  header: { no: 1, kind: HEADER },
  members: { no: 2, kind: { id: { no: 1, kind: 'id' } }, many: true },
};

/** One call of the API: where it goes, and how what goes there and comes back is written. */
export interface GrpcMethod<Request extends object, Response> {
  readonly path: string;
  encode(request: Request): Buffer;
  decode(bytes: Buffer): Response;
}

function method<Request extends object, Response>(
  path: string,
  request: Shape,
  response: Shape,
): GrpcMethod<Request, Response> {
  return {
    path: `/etcdserverpb.${path}`,
    encode: (message) => encode(request, message),
    decode: (bytes) => decode<Response>(response, bytes),
  };
}

export const TXN: GrpcMethod<TxnRequest, TxnResponse> = method('KV/Txn', TXN_REQUEST, TXN_RESPONSE);

export const RANGE: GrpcMethod<RangeRequest, RangeResponse> = method(
  'KV/Range',
  RANGE_REQUEST,
  RANGE_RESPONSE,
);

export const LEASE_GRANT: GrpcMethod<LeaseGrantRequest, LeaseGrantResponse> = method(
  'Lease/LeaseGrant',
  LEASE_GRANT_REQUEST,
  LEASE_GRANT_RESPONSE,
);

export const LEASE_KEEP_ALIVE: GrpcMethod<LeaseKeepAliveRequest, LeaseKeepAliveResponse> = method(
  'Lease/LeaseKeepAlive',
  KEEP_ALIVE_REQUEST,
  KEEP_ALIVE_RESPONSE,
);

export const WATCH: GrpcMethod<WatchRequest, WatchResponse> = method(
  'Watch/Watch',
  WATCH_REQUEST,
  WATCH_RESPONSE,
);

export const STATUS: GrpcMethod<object, StatusResponse> = method(
  'Maintenance/Status',
  {},
  STATUS_RESPONSE,
);

export const MEMBER_LIST: GrpcMethod<object, MemberListResponse> = method(
  'Cluster/MemberList',
  {},
  MEMBER_LIST_RESPONSE,
);
