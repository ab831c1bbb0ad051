import type { Blob } from '../../contract/execution-store.ts';
import { type Database, statement } from '../database.ts';

// What stands under a digest is always the same, so the first to put it wins.
const PUT = statement(`
  insert into hf.blob (digest, at, bytes)
  values ($1, hf_now(), $2)
      on conflict (digest) do nothing`);

const GET = statement('select b.bytes from hf.blob b where b.digest = $1');

export async function putBlob(database: Database, { digest, bytes }: Blob): Promise<void> {
  await database.rows(PUT, [digest, Buffer.from(bytes)]);
}

export async function getBlob(database: Database, digest: string): Promise<Uint8Array | undefined> {
  const [row] = await database.rows<{ bytes: Buffer }>(GET, [digest]);
  return row === undefined ? undefined : new Uint8Array(row.bytes);
}
