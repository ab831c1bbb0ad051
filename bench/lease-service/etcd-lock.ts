// etcd's own lock service and keep-alive, over one gRPC connection, as stock clients call them.

import { Client, credentials } from '@grpc/grpc-js';
import { type GrpcMethod, LEASE_GRANT, LEASE_KEEP_ALIVE } from '../../src/store/etcd/messages.ts';
import { decode, encode } from '../../src/support/protobuf.ts';

const LOCK: GrpcMethod<object, { readonly key: Uint8Array }> = {
  path: '/v3lockpb.Lock/Lock',
  encode: (message) =>
    encode({ name: { no: 1, kind: 'bytes' }, lease: { no: 2, kind: 'id' } }, message),
  decode: (bytes) => decode({ key: { no: 2, kind: 'bytes' } }, bytes),
};
const UNLOCK: GrpcMethod<object, object> = {
  path: '/v3lockpb.Lock/Unlock',
  encode: (message) => encode({ key: { no: 1, kind: 'bytes' } }, message),
  decode: (bytes) => decode({}, bytes),
};
const TTL_S = 600;

export interface EtcdLocks {
  /** Takes the lock of this name, and gives it back. */
  lockOnce(name: string): Promise<void>;
  /** Keeps the nth lease alive. */
  renew(nth: number): Promise<void>;
  close(): void;
}

export async function openEtcdLocks(endpoint: string, leases: number): Promise<EtcdLocks> {
  const client = new Client(new URL(endpoint).host, credentials.createInsecure());
  const call = <Request extends object, Response>(
    { path, encode: write, decode: read }: GrpcMethod<Request, Response>,
    request: Request,
  ): Promise<Response> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, write, read, request, (error, response) => {
        if (error === null && response !== undefined) resolve(response);
        else reject(error ?? new Error('etcd sent no response'));
      });
    });
  const granted = Array.from({ length: leases }, () => call(LEASE_GRANT, { ttl: TTL_S }));
  const ids = (await Promise.all(granted)).map(({ id }) => id);
  const waiting: (() => void)[] = [];
  const { path, encode: write, decode: read } = LEASE_KEEP_ALIVE;
  const stream = client.makeBidiStreamRequest(path, write, read);
  stream.on('data', () => waiting.shift()?.());
  stream.on('error', () => undefined);
  return {
    async lockOnce(name) {
      const { key } = await call(LOCK, { name: Buffer.from(name), lease: ids[0] });
      await call(UNLOCK, { key });
    },
    renew: (nth) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        const id = ids[nth % ids.length] ?? '';
        stream.write({ id });
      }),
    close() {
      stream.cancel();
      client.close();
    },
  };
}
