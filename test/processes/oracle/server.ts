// The oracle: an append-only resource in its own process, which shares nothing with our stores.
// With the check it refuses a fence lower than the highest it has seen. Without the check it
// accepts everything. It always records the writes in the order in which they came.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { OracleAnswer, OracleRecord, OracleWrite } from './record.ts';

const [mode, file] = process.argv.slice(2);
if ((mode !== 'checked' && mode !== 'unchecked') || file === undefined) {
  throw new Error('usage: node server.ts checked|unchecked <file>');
}

let newest = 0;

function take(write: OracleWrite, to: string): OracleAnswer {
  const accepted = mode === 'unchecked' || write.fence >= newest;
  newest = Math.max(newest, write.fence);
  const record: OracleRecord = { ...write, wallMs: Date.now(), accepted };
  appendFileSync(to, `${JSON.stringify(record)}\n`);
  return accepted ? { kind: 'accepted' } : { kind: 'refused', newest };
}

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => undefined);
  const lines = createInterface({ input: socket });
  // A killed writer resets its connection, and the reader of lines reports that again.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    socket.write(`${JSON.stringify(take(JSON.parse(line), file))}\n`);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ kind: 'event', name: 'listening', detail: server.address() });
});
process.once('disconnect', () => process.exit(0));
