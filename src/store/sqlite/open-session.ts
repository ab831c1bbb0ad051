import { decideOpen, lifeOf } from '../../lease/decide/session.ts';
import type { OpenSession, SessionOpened } from '../../lease/port.ts';
import type { SessionRecord } from '../../lease/session.ts';
import { loadChain } from './load-view.ts';
import type { Transaction } from './transaction.ts';

const INSERT = `
  insert into session (id, owner, path, ttl_ms, grace_ms, metadata, opened_at, beat_at, expires_at, extended, notices)
  values (:id, :owner, :path, :ttlMs, :graceMs, :metadata, :openedAt, :beatAt, :expiresAt, 0, 0)`;

/** Once in the life of a process, so it reads first; the write lock is held. */
export function openSession(tx: Transaction, request: OpenSession): SessionOpened {
  const { now, policy } = tx;
  const existing = loadChain(tx, request.id);
  const parent = loadChain(tx, request.parent);
  const decision = decideOpen({ existing, parent, policy }, request, now);
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refused', ...decision.refusal };
    case 'replay':
      return { kind: 'opened', replayed: true, ...lifeOf(existing, now) };
    case 'open': {
      const { session } = decision;
      insert(tx, session);
      tx.forgetSessions();
      tx.append({ kind: 'session-opened', at: now, session: session.id, owner: session.owner });
      return { kind: 'opened', replayed: false, ...lifeOf([...parent, session], now) };
    }
  }
}

function insert(tx: Transaction, session: SessionRecord): void {
  tx.run(INSERT, {
    id: session.id,
    owner: session.owner,
    path: JSON.stringify(session.path),
    ttlMs: session.ttlMs,
    graceMs: session.graceMs,
    metadata: JSON.stringify(session.metadata),
    openedAt: session.openedAt,
    beatAt: session.beatAt,
    expiresAt: session.expiresAt,
  });
}
