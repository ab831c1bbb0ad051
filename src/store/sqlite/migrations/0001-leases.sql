-- Older builds: there are none. Sessions, leases, their queue, their penalties and their events.

-- One row. `fence` is the last one issued; `halted` is one that was presented and never issued
-- (T-4); `clock_at` is the latest time this store has acted on (C-2).
create table meta (
  id       integer primary key check (id = 1),
  fence    integer not null,
  halted   integer,
  clock_at integer not null,
  -- Opened without FULL once: a power cut may have taken back grants, so every open skips fences.
  lossy    integer not null default 0
) strict;

insert into meta (id, fence, halted, clock_at) values (1, 1099511627776, null, 0);

create table session (
  id         text    not null primary key,
  owner      text    not null,
  path       text    not null,
  ttl_ms     integer not null,
  grace_ms   integer not null,
  metadata   text    not null,
  opened_at  integer not null,
  beat_at    integer not null,
  expires_at integer not null,
  extended   integer not null check (extended in (0, 1)),
  notices    integer not null,
  ended_at   integer,
  exit       text,
  cause      text,
  actor      text
) strict, without rowid;

create index session_expiry on session (expires_at) where ended_at is null;
create index session_ended on session (ended_at) where ended_at is not null;

-- Not `without rowid`: a row with a checkpoint is far larger than a key. The rowid also keeps the
-- order in which keys were first taken. The bytes come last, so that reading the rest skips them.
create table lease (
  key                     text    not null primary key,
  fence                   integer not null,
  session_id              text    not null,
  owner                   text    not null,
  attempt_id              text    not null,
  rev                     integer not null,
  granted_at              integer not null,
  hard_deadline_at        integer,
  drain_request_id        text,
  drain_by                text,
  drain_reason            text,
  drain_requested_at      integer,
  drain_deadline_at       integer,
  drain_successor         text,
  ended_at                integer,
  exit                    text,
  cause                   text,
  actor                   text,
  end_request_id          text,
  prev_exit               text    not null,
  prev_owner              text,
  prev_fence              integer,
  prev_ended_at           integer,
  prev_cause              text,
  prev_actor              text,
  losses_since_checkpoint integer not null,
  intents                 text    not null,
  reserved_for            text,
  reserved_until          integer,
  checkpoint_seq          integer,
  checkpoint_digest       text,
  checkpoint_fence        integer,
  checkpoint_at           integer,
  checkpoint_type         text,
  before_seq              integer,
  before_digest           text,
  before_fence            integer,
  before_at               integer,
  before_type             text,
  checkpoint_bytes        blob,
  before_bytes            blob
) strict;

create index lease_carried on lease (session_id) where ended_at is null;
create index lease_drain on lease (drain_deadline_at)
  where ended_at is null and drain_deadline_at is not null;
create index lease_tenure on lease (hard_deadline_at)
  where ended_at is null and hard_deadline_at is not null;
create index lease_retired on lease (ended_at) where exit = 'retired';

-- Who waits for what. The id is the place in the line (A-7).
create table ticket (
  id         integer primary key autoincrement,
  key        text not null,
  attempt_id text not null,
  session_id text not null,
  -- Moved on whenever its waiter asks again.
  expires_at integer not null,
  unique (key, attempt_id)
) strict;

create index ticket_line on ticket (key, id);

-- Penalties of owners that lost a key by expiry (G-4).
create table flap (
  key   text    not null,
  owner text    not null,
  until integer not null,
  primary key (key, owner)
) strict, without rowid;

-- `autoincrement`, because a seq must not come back after retention deleted the newest (O-1).
create table event (
  seq        integer primary key autoincrement,
  at         integer not null,
  kind       text    not null,
  key        text,
  fence      integer,
  rev        integer,
  session_id text,
  owner      text,
  detail     text    not null
) strict;
