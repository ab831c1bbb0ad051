// Leases as a service: the messages of a client of leases. They mirror the port of leases, so a
// refusal is a result. Attempt, fence, seq, effect and request identify a write, so a repeated or
// late message does no harm (ADR 0064).

import { Type } from 'typebox';
import { DECLARED_EXITS } from '../../lease/exit.ts';
import {
  choice,
  closed,
  count,
  decimal,
  documented,
  fence,
  flag,
  integerWithin,
  listOf,
  name,
  optional,
  text,
  textWithin,
  uuid,
  waitMs,
  withExample,
} from '../../protocol/messages/words.ts';
import {
  at,
  digest,
  itemsPageOf,
  message,
  NO_SESSION,
  resultOf,
  sessionId,
} from '../../protocol/messages/work-message.ts';

const COMMON = { allows: ['lease'], tag: 'Lease protocol' } as const;
const READ = { ...COMMON, isRead: true } as const;
/** Workers hold leases for `ctx.lease`, under their own sessions. */
const HOLDS = { ...COMMON, allows: ['lease', 'work'] } as const;
const HOLDER_READS = { ...HOLDS, isRead: true } as const;

const KEY_MAX = 512;
const TEXT_MAX = 2_048;
const YEAR_MS = 365 * 86_400_000;
/** The most items of one reply. */
export const LEASES_PAGE_MAX = 500;

const key = textWithin(1, KEY_MAX, 'Key of the lease, without the project.', 'reports/nightly');
const attempt = documented(uuid, 'Id of the attempt: a UUID that the client makes.');
const shortText = Type.String({ maxLength: TEXT_MAX });
const ms = documented(count, 'Milliseconds.', 10_000);
const effect = documented(name, 'Name of the external effect.', 'charge:order-17');
const owner = documented(name, 'Name of the holder.', 'billing@host-3');
const exit = text('How the term ended.', 'finished');
const replayed = flag('True if an earlier request had done it.');
const bytes = Type.String({
  contentEncoding: 'base64',
  description: 'Content in base64.',
  examples: ['eyJwYWdlIjo0fQ=='],
});

export const sessionMetadata = Type.Record(name, Type.String({ maxLength: TEXT_MAX }), {
  maxProperties: 64,
  description:
    'Names and texts for operators, with at most 65,536 characters together. Names that begin with `holdfast.` are reserved. Default: none.',
  examples: [{ host: 'host-3' }],
});

/** The part that all writes of a holder share. */
const tenure = {
  key,
  fence: documented(fence, 'Fence of the term.'),
  session: documented(uuid, 'Session that holds it.'),
};
const TENURE_EXAMPLE = {
  key: 'reports/nightly',
  fence: 1_099_511_627_777,
  session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
};

const checkpoint = Type.Object(
  {
    seq: documented(count, 'Number of the checkpoint within its term.', 4),
    bytes,
    digest,
    fence: documented(fence, 'Fence of the term that saved it.'),
    at,
    type: optional(text('Description of the bytes.')),
  },
  { description: 'Last checkpoint.' },
);

const intents = listOf(
  Type.Object({
    effect,
    fence: documented(fence, 'Fence of the term that began it.'),
    begunAt: at,
    note: optional(text('Note for the successor.')),
  }),
  'External effects that were begun and not settled.',
);

const state = choice(
  ['free', 'held', 'draining', 'lapsed', 'expired', 'retired'],
  'State of the key.',
);
const freeInMs = decimal(
  'Time until the key can be acquired if its holder does not renew, in milliseconds.',
  13_200,
);

const request = documented(uuid, 'Id of this request: send the same id when you repeat it.');
const operation = {
  key,
  fence: documented(fence, 'Fence of the term that you mean. A later term stays as it is.'),
  request,
  actor: documented(name, 'Person who asks. The coordinator adds the id of the access key.', 'ada'),
  reason: textWithin(1, TEXT_MAX, 'Why, for the record.', 'Host is being replaced.'),
};
const OPERATION_EXAMPLE = {
  key: 'reports/nightly',
  fence: 1_099_511_627_777,
  request: '01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3',
  actor: 'ada',
  reason: 'Host is being replaced.',
};

const inspection = Type.Object(
  {
    session: Type.Object(
      {
        id: sessionId,
        owner,
        path: listOf(
          documented(uuid, 'Id of a session.'),
          'Ids of all its ancestors from the root, then its own.',
        ),
        ttlMs: documented(ms, 'Lifetime after a heartbeat, in milliseconds.'),
        graceMs: documented(ms, 'Last part of `ttlMs`, in which it may rejoin but not act.'),
        metadata: documented(sessionMetadata, 'Its names and texts.'),
        openedAt: at,
        beatAt: at,
        expiresAt: at,
        extended: flag('True if the store extended it after an outage.'),
        notices: documented(count, 'Number of notices to the session.'),
      },
      { description: 'The session as stored. After its end it also has `end`.' },
    ),
    state: choice(['alive', 'lapsed', 'overdue', 'ended'], 'State of the session.'),
    authorityMs: decimal('Time for which it may act, in milliseconds.'),
    remainingMs: decimal('Time until it is overdue, in milliseconds.'),
  },
  { title: 'SessionInspection', description: 'A session and its state.' },
);

function pageLimit(description: string) {
  return optional(integerWithin(1, LEASES_PAGE_MAX, description, 100));
}

const limit = pageLimit(`Largest number of items. Default: ${LEASES_PAGE_MAX}.`);

export const LEASE_MESSAGES = {
  acquireLease: message({
    ...HOLDS,
    at: 'POST /v1/work/leases/acquire',
    summary: 'Acquire a lease',
    description:
      'Grants the key to the session under a new fence, or refuses it. With `wait`, the attempt joins the queue of the key; send it again after a hint, and at least every third of `ticketMs`. Repeating it with the same attempt is safe.',
    body: closed(
      {
        key,
        session: sessionId,
        attempt,
        wait: optional(flag('True: join the queue of the key. Default: false.')),
        reopen: optional(flag('True: take a retired key again. Default: false.')),
        fromCheckpointBefore: optional(
          flag('True: go back to the checkpoint before the last. Default: false.'),
        ),
        tenureMsMax: optional(
          integerWithin(
            0,
            YEAR_MS,
            'Time after which the term ends however often the session renews. Default: no limit.',
            3_600_000,
          ),
        ),
      },
      withExample({
        key: 'reports/nightly',
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        attempt: '01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3',
        wait: true,
      }),
    ),
    reply: Type.Union([
      resultOf('granted', {
        key,
        fence: documented(fence, 'Fence of the term. Every write carries it.'),
        grantedAt: at,
        authorityMs: decimal(
          'How long you may act from when you sent this request, in milliseconds.',
          10_000,
        ),
        deadlineInMs: optional(decimal('Time to the own deadline of the lease, in milliseconds.')),
        checkpoint: optional(checkpoint),
        intents,
        predecessor: Type.Object(
          { exit },
          { description: 'How the term before ended, with its owner, fence and cause.' },
        ),
        lossesSinceCheckpoint: documented(count, 'Terms that expired since the last checkpoint.'),
        replayed,
      }),
      Type.Object({
        kind: Type.Literal('queued', { description: 'The attempt waits in the queue.' }),
        ahead: documented(count, 'Number of waiters ahead of it.'),
        refusal: Type.Object(
          { why: text('Code of the refusal.', 'held') },
          { description: 'Why the key is not available now.' },
        ),
      }),
    ]),
  }),
  withdrawAttempt: message({
    ...HOLDS,
    at: 'POST /v1/work/leases/withdraw',
    summary: 'Leave the queue of a lease',
    description: 'Removes an attempt from the queue of a key. Repeating it is safe.',
    body: closed({ key, attempt }),
    reply: Type.Object({
      kind: Type.Literal('withdrawn', { description: 'Always `withdrawn`.' }),
      wasQueued: flag('False if the attempt was not in the queue.'),
    }),
  }),
  saveCheckpoint: message({
    ...COMMON,
    at: 'POST /v1/work/leases/checkpoint',
    summary: 'Save the progress of a term',
    description:
      'Saves bytes that the next holder gets with its grant. Refused if the term is over, or a later checkpoint is stored. Repeating it with the same seq and digest is safe.',
    takesValues: true,
    body: closed(
      {
        ...tenure,
        seq: documented(count, 'Number of the checkpoint within its term, from 1.', 4),
        bytes,
        digest,
        type: optional(name, 'Description of the bytes. Default: none.', 'application/json'),
      },
      withExample({
        ...TENURE_EXAMPLE,
        seq: 4,
        bytes: 'eyJwYWdlIjo0fQ==',
        digest: 'ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356',
      }),
    ),
    reply: resultOf('saved', { replayed }),
  }),
  beginIntent: message({
    ...COMMON,
    at: 'POST /v1/work/leases/begin-intent',
    summary: 'Record an external effect before it happens',
    description:
      'Records that the holder is about to do something outside the store. If the holder dies, its successor gets the record with its grant. Repeating it is safe.',
    body: closed({
      ...tenure,
      effect,
      note: optional(shortText, 'Note for the successor. Default: none.', 'order 17'),
    }),
    reply: resultOf('begun', { replayed }),
  }),
  settleIntent: message({
    ...COMMON,
    at: 'POST /v1/work/leases/settle-intent',
    summary: 'Remove a recorded effect',
    description: 'Removes the record of an effect whose outcome is known. Repeating it is safe.',
    body: closed({ ...tenure, effect }),
    reply: resultOf('settled', {
      wasOpen: flag('False if there was no such record.'),
    }),
  }),
  releaseLease: message({
    ...HOLDS,
    at: 'POST /v1/work/leases/release',
    summary: 'Release a lease',
    description:
      'Ends the term with an exit, which the next holder gets with its grant. Repeating it is safe.',
    body: closed({
      ...tenure,
      exit: choice([...DECLARED_EXITS], 'How the work ended.'),
      cause: optional(shortText, 'Cause, for the next holder. Default: none.', 'done'),
    }),
    reply: resultOf('released', { replayed }),
  }),
  requestDrain: message({
    ...COMMON,
    at: 'POST /v1/work/leases/drain',
    summary: 'Ask the holder of a key to stop',
    description:
      'Asks the holder to stop by a deadline; the store ends the term then. The holder keeps the time that it was promised. Repeating it with the same `request` is safe.',
    body: closed(
      {
        ...operation,
        deadlineMs: integerWithin(
          0,
          YEAR_MS,
          'Time that the holder has to stop, in milliseconds.',
          60_000,
        ),
        successor: optional(
          name,
          'Owner that gets the key first. Default: none.',
          'billing@host-4',
        ),
      },
      withExample({ ...OPERATION_EXAMPLE, deadlineMs: 60_000 }),
    ),
    reply: resultOf('draining', {
      deadlineInMs: decimal('Time until the deadline, in milliseconds.'),
      replayed,
    }),
  }),
  revokeTerm: message({
    ...COMMON,
    at: 'POST /v1/work/leases/revoke',
    summary: 'End a term now',
    description:
      'Ends the term now. The holder learns of it with its next heartbeat; until then only fences stop its writes. Repeating it with the same `request` is safe.',
    body: closed(operation, withExample(OPERATION_EXAMPLE)),
    reply: resultOf('revoked', { replayed }),
  }),
  verifyFence: message({
    ...HOLDER_READS,
    at: 'GET /v1/work/leases/verify',
    summary: 'Check a fence',
    description: 'Checks that a fence is the newest of its key and has authority.',
    body: closed({ key, fence: documented(fence, 'Fence to check.') }),
    reply: resultOf('current', {
      authorityMs: decimal('Time for which it has authority, at most.'),
    }),
  }),
  inspectLease: message({
    ...HOLDER_READS,
    at: 'GET /v1/work/leases/inspect',
    summary: 'Inspect a lease',
    description:
      'Returns the state of a key, how many sessions wait for it, and its record with checkpoint and intents. A key that was never acquired is `free` and has no record.',
    body: closed({ key }),
    reply: Type.Object({
      key,
      state,
      freeInMs,
      waiting: documented(count, 'Number of sessions in its queue.', 1),
      record: optional(
        Type.Object(
          {
            key,
            fence: documented(fence, 'Fence of the newest term.'),
            session: documented(uuid, 'Session of the newest term.'),
            owner,
            grantedAt: at,
            checkpoint: optional(checkpoint),
            intents,
          },
          { description: 'Newest term of the key, with all its stored fields.' },
        ),
      ),
    }),
  }),
  listProjectLeases: message({
    ...READ,
    at: 'GET /v1/work/leases',
    summary: 'List the leases of the project',
    description: "Returns the project's leases in the order of their keys, without checkpoints.",
    body: closed({
      prefix: optional(key, 'Only keys that begin with this. Default: all.', 'reports/'),
      after: optional(key, 'Return keys after this one. Default: all.'),
      limit,
    }),
    reply: itemsPageOf(
      Type.Object({
        key,
        state,
        fence: documented(fence, 'Fence of the newest term.'),
        session: documented(uuid, 'Session of the newest term.'),
        owner,
        since: at,
        freeInMs,
        exit: optional(exit),
      }),
    ),
  }),
  readLeaseEvents: message({
    ...READ,
    at: 'GET /v1/work/leases/events',
    summary: 'Read events of leases and sessions',
    description:
      "Returns events of the project's leases and sessions after a position. Keys for all projects also get alarms and raised epochs. If retention deleted events after `after`, it returns `truncated`: read the state again, then continue from `oldest`.",
    body: closed({
      after: documented(count, 'Return events after this position; 0 for the first.', 0),
      limit: pageLimit(`Most events to examine. Default: ${LEASES_PAGE_MAX}.`),
    }),
    reply: Type.Object({
      kind: choice(
        ['events', 'truncated'],
        '`truncated` if retention deleted events after `after`.',
      ),
      items: optional(
        listOf(
          Type.Object({
            seq: documented(count, 'Position of the event.', 17),
            at,
            kind: text('Kind of the event.', 'acquired'),
          }),
          'The events, each with the fields of its kind.',
        ),
      ),
      next: optional(count, 'Position to continue after.', 17),
      more: optional(flag('True if there may be more: ask again.')),
      oldest: optional(count, 'Position to continue from after a gap.'),
    }),
  }),
  waitForLeaseHint: message({
    ...HOLDER_READS,
    at: 'GET /v1/work/leases/hints',
    summary: 'Wait for a hint that a key may be free',
    description:
      'Holds the request open until a key of the project may have become free, or until `waitMs` is over. One request serves all waiters of a process. A hint may be lost or wrong: acquire again, then wait again with `next`.',
    isLong: true,
    body: closed({
      waitMs: optional(waitMs),
      after: optional(count, 'The `next` of the reply before. Default: only hints from now on.', 3),
    }),
    reply: Type.Object({
      keys: listOf(key, 'Keys that may be free. Empty if the time was over.'),
      next: documented(count, 'Position to wait after.', 4),
    }),
  }),
  listCarriedLeases: message({
    ...HOLDER_READS,
    at: 'GET /v1/work/sessions/:id/leases',
    summary: 'List the leases of a session',
    description:
      'Returns the leases that a session holds now, in the order of their keys. If one is missing, its holder has lost it. Send it when the `notices` of a heartbeat have changed.',
    body: closed({
      id: sessionId,
      after: optional(key, 'Return keys after this one. Default: all.'),
      limit,
    }),
    reply: itemsPageOf(
      Type.Object({
        key,
        fence: documented(fence, 'Fence of the term.'),
        deadlineInMs: optional(decimal('Time to the own deadline of the lease, in milliseconds.')),
        drain: optional(
          Type.Object(
            {
              actor: text('Person who asked.'),
              reason: text('The reason.'),
              deadlineAt: at,
            },
            { description: 'Request to stop, with all its stored fields.' },
          ),
        ),
      }),
    ),
    problems: NO_SESSION,
  }),
  inspectSession: message({
    ...READ,
    at: 'GET /v1/work/sessions/:id',
    summary: 'Inspect a session of the project',
    description: 'Returns a session of the project and its state.',
    body: closed({ id: sessionId }),
    reply: inspection,
    problems: {
      404: { what: 'The project has no such session.', codes: ['session-unknown'] },
    },
  }),
  listProjectSessions: message({
    ...READ,
    at: 'GET /v1/work/sessions',
    summary: 'List the sessions of the project',
    description: "Returns the project's sessions by id, with their metadata.",
    body: closed({
      after: optional(uuid, 'Return sessions after this id. Default: all.'),
      limit,
      all: optional(flag('True: also ended ones. Default: false.')),
    }),
    reply: Type.Object({
      items: listOf(inspection, 'The sessions of this page.'),
      next: optional(uuid, 'Continue after this id. Absent on the last page. A page may be empty.'),
    }),
  }),
} as const;

export type LeaseKind = keyof typeof LEASE_MESSAGES;
