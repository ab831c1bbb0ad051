// The raw floor of etcd: one key put by its leader, through the same gRPC library.

import { Client, credentials } from '@grpc/grpc-js';
import { TXN, type TxnRequest, type TxnResponse } from '../src/store/etcd/messages.ts';
import { type Floor, randomPayload } from './floor.ts';
import type { Settings } from './report.ts';

/** etcd has no setting under which an answer leaves before more than half of the disks have it. */
export function openEtcdFloor(leader: string, settings: Settings): Floor {
  const client = new Client(new URL(leader).host, credentials.createInsecure());
  const put = (request: TxnRequest): Promise<TxnResponse> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest<TxnRequest, TxnResponse>(
        TXN.path,
        (message) => TXN.encode(message),
        (bytes) => TXN.decode(bytes),
        request,
        (error, response) => {
          if (error === null && response !== undefined) resolve(response);
          else reject(error ?? new Error('etcd answered nothing'));
        },
      );
    });
  return {
    settings,
    commit: (worker, bytes) => {
      const key = Buffer.from(`floor/${worker}`);
      const success = [{ put: { key, value: randomPayload(bytes) } }];
      return put({ compare: [], success, failure: [] });
    },
    close: async () => client.close(),
  };
}
