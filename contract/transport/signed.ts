// On channels that others can write to, the signature identifies the sender.

import assert from 'node:assert/strict';
import { kindsOf, later, mustSubmit, statusOf, writing } from '../execution/worker.ts';
import type { Forgery, TransportCase, TransportHarness } from './contract-case.ts';
import { assertKind, owner, takenOver, type WriteResult } from './peer.ts';

/** The message is put aside, and nothing is done. */
function putAside(how: Forgery, what: string): TransportCase {
  return {
    upholds: 'M-13, M-14',
    name: `a message ${what} is put aside, and nothing is done`,
    needs: 'signed',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const write = { verb: 'record', ...writing(held) };
      const message = { kind: 'writeAsOwner', body: { writes: [write] } } as const;
      assert.equal(await harness.forge(message, how), undefined);
      assert.equal((await kindsOf(harness.store, id)).length, 2);
      assertKind(await ann.finish(held), 'finished');
    },
  };
}

async function forged(
  harness: TransportHarness,
  how: Forgery,
  write: object,
): Promise<WriteResult> {
  const body = { writes: [write] };
  const reply = await harness.forge({ kind: 'writeAsOwner', body }, how);
  assert.ok(reply !== undefined, 'it is answered');
  const { results } = reply.body as { readonly results: readonly WriteResult[] };
  return results[0] as WriteResult;
}

export const signedCases: readonly TransportCase[] = [
  putAside('unsigned', 'that is not signed'),
  putAside('tampered', 'that was changed after it was signed'),
  putAside('of-another-key', 'that was signed with another secret under a known key id'),
  putAside('of-an-unknown-key', 'that was signed with an unknown key'),
  putAside('turned-around', 'that the coordinator itself has signed for a worker'),
  putAside('reply-elsewhere', 'whose reply would go to a forbidden address'),
  {
    upholds: 'M-13, M-25',
    name: 'a message whose signature has expired is refused, and nothing is written',
    needs: 'signed',
    async run(harness) {
      const { held, id } = await owner(harness);
      const write = { verb: 'record', ...writing(held) };
      const message = { kind: 'writeAsOwner', body: { writes: [write] } } as const;
      const reply = await harness.forge(message, 'expired');
      assert.equal(reply?.problem?.code, 'signature-expired');
      assert.equal((await kindsOf(harness.store, id)).length, 2);
    },
  },
  {
    upholds: 'M-13, M-25',
    name: 'a message that waited long and whose signature is still valid is applied',
    needs: 'signed',
    async run(harness) {
      const { held } = await owner(harness);
      const write = { verb: 'record', ...writing(held) };
      assertKind(await forged(harness, 'waited-long', write), 'recorded');
    },
  },
  {
    upholds: 'M-13, M-25',
    name: 'a message signed with a retired key that is still accepted is applied',
    needs: 'signed',
    async run(harness) {
      const { held } = await owner(harness);
      const write = { verb: 'record', ...writing(held) };
      assertKind(await forged(harness, 'of-an-older-key', write), 'recorded');
    },
  },
  {
    upholds: 'M-13, M-1',
    name: 'a message that is replayed is recognised by its seq, and changes nothing',
    needs: 'signed',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const write = { verb: 'record', ...writing(held) };
      for (let sent = 0; sent < 3; sent += 1) {
        assertKind(await forged(harness, 'none', write), 'recorded');
      }
      assert.equal((await kindsOf(harness.store, id)).length, 3);
      assertKind(await ann.finish(later(held)), 'finished');
    },
  },
  {
    upholds: 'M-13, M-3',
    name: 'a message that is replayed after a takeover is refused by its fence',
    needs: 'signed',
    async run(harness) {
      const { bob, hers, his } = await takenOver(harness);
      const result = await forged(harness, 'none', { verb: 'record', ...writing(hers) });
      assert.deepEqual([result.kind, result.why], ['refused', 'superseded']);
      assertKind(await bob.finish(his), 'finished');
      const id = await mustSubmit(harness.store);
      assert.equal(await statusOf(harness.store, id), 'queued');
    },
  },
];
