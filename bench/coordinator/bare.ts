// The floor: a bare HTTP server that parses the body and sends a fixed response. A coordinator costs the
// difference.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, reply) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    JSON.parse(Buffer.concat(parts).toString('utf8'));
    reply.writeHead(202, { 'content-type': 'application/json' });
    reply.end('{"id":"01a1e0b1-0fc4-7000-a0ef-84520bba27a8","existing":false}');
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on('disconnect', () => process.exit(0));
