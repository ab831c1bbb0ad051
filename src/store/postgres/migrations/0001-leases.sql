-- older builds may run: no
--
-- Times are milliseconds since 1970 in UTC, so that every store compares the same whole numbers.

create table hf.meta (
  id              smallint primary key check (id = 1),
  -- Which run of which server this was last seen on; a change starts the fair chance (E-6), and a
  -- change of system or timeline raises the epoch (T-4).
  started_at      timestamptz not null,
  -- The sequence of fences as this database knows it; a copy that was restored has another.
  home            oid not null,
  system_id       text,
  timeline        integer,
  -- A fence that was presented and never issued: grants are halted until the epoch is raised.
  halted          bigint,
  -- Events up to and including this one were deleted by a sweep.
  events_deleted  bigint not null default 0
);

-- epoch · 2^40 + counter; starts at epoch 1. Overflow of the counter carries into the epoch.
create sequence hf.fence as bigint start 1099511627777 minvalue 1099511627777 no cycle;

create table hf.session (
  id          uuid primary key,
  owner       text not null,
  path        uuid[] not null,
  ttl_ms      bigint not null,
  grace_ms    bigint not null,
  metadata    jsonb not null,
  opened_at   bigint not null,
  beat_at     bigint not null,
  expires_at  bigint not null,
  extended    boolean not null default false,
  -- Whether the last heartbeat found the session lapsed; lets one statement say so.
  rejoined    boolean not null default false,
  notices     bigint not null default 0,
  ended_at    bigint,
  exit        text,
  cause       text,
  actor       text
) with (fillfactor = 50);

-- None of these has a column that a heartbeat writes, so that heartbeats stay inside their page.
create index session_live on hf.session (id) where ended_at is null;
create index session_ended on hf.session (ended_at) where ended_at is not null;

create table hf.lease (
  -- By bytes, so that a prefix is a range whatever the database's locale.
  key                     text collate "C" primary key,
  fence                   bigint not null,
  session_id              uuid not null,
  owner                   text not null,
  attempt_id              uuid not null,
  rev                     bigint not null,
  granted_at              bigint not null,
  hard_deadline_at        bigint,
  drain_request_id        uuid,
  drain_by                text,
  drain_reason            text,
  drain_requested_at      bigint,
  drain_deadline_at       bigint,
  drain_successor         text,
  ended_at                bigint,
  exit                    text,
  cause                   text,
  actor                   text,
  end_request_id          uuid,
  prev_exit               text not null,
  prev_owner              text,
  prev_fence              bigint,
  prev_ended_at           bigint,
  prev_cause              text,
  prev_actor              text,
  checkpoint_seq          bigint,
  checkpoint_bytes        bytea,
  checkpoint_digest       text,
  checkpoint_fence        bigint,
  checkpoint_at           bigint,
  checkpoint_type         text,
  before_seq              bigint,
  before_bytes            bytea,
  before_digest           text,
  before_fence            bigint,
  before_at               bigint,
  before_type             text,
  losses_since_checkpoint bigint not null default 0,
  intents                 jsonb not null default '[]',
  reserved_for            text,
  reserved_until          bigint
) with (fillfactor = 70);

create index lease_carried on hf.lease (session_id) where ended_at is null;
create index lease_deadline on hf.lease (least(drain_deadline_at, hard_deadline_at))
  where ended_at is null and least(drain_deadline_at, hard_deadline_at) is not null;
create index lease_retired on hf.lease (ended_at) where exit = 'retired';

create table hf.ticket (
  id          bigint generated always as identity primary key,
  key         text not null,
  attempt_id  uuid not null,
  session_id  uuid not null,
  -- Moved on whenever its waiter asks again.
  expires_at  bigint not null,
  unique (key, attempt_id)
);
create index ticket_queue on hf.ticket (key, id);

create table hf.flap (
  key    text not null,
  owner  text not null,
  until  bigint not null,
  -- Until then the owner is kept from the key; until less the units that are free.
  damped_until bigint not null,
  primary key (key, owner)
);

create sequence hf.event_seq as bigint;

create table hf.event (
  seq         bigint primary key default nextval('hf.event_seq'),
  at          bigint not null,
  kind        text not null,
  key         text,
  fence       bigint,
  rev         bigint,
  session_id  uuid,
  owner       text,
  detail      jsonb not null default '{}'
);
