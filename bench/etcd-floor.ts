// The raw floor of etcd: the leader puts one key, through the same gRPC library as the store.

import { Client, credentials } from '@grpc/grpc-js';
import { TXN, type TxnRequest, type TxnResponse } from '../src/store/etcd/messages.ts';
import { type Floor, randomPayload } from './floor.ts';
import type { Settings } from './report.ts';

/** No setting to check: etcd always responds after most members have flushed the write. */
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
          else reject(error ?? new Error('etcd sent no response'));
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
