-- older builds may run: yes
--
-- Channels (docs/spec/channels.md). Triggers write what happened in the transaction in which it happens, so builds before
-- this one announce it too. Without a channel that asks for it, they write nothing.

-- `uid` is another one after a channel was removed and made again. `events` has a space around each word. `key_prefix` is
-- how the lease keys of the project begin. `secret` names what the secret is derived from; it is no secret.
create table hf.channel (
  created_at       bigint not null,
  changed_at       bigint not null,
  open_until       bigint,
  previous_until   bigint,
  failures         integer not null default 0,
  paused           boolean not null,
  uid              uuid not null unique,
  project          text collate "C" not null,
  id               text collate "C" not null,
  kind             text not null,
  url              text not null,
  events           text not null,
  key_prefix       text collate "C" not null,
  secret           text not null,
  previous_secret  text,
  put_by           text,
  primary key (project, id)
);

create index channel_key_prefix on hf.channel (key_prefix);

-- One message of one channel. `status`: 0 pending, 1 delivered, 2 failed. `attempts` fences: each claim of the row counts it.
create table hf.delivery (
  channel   uuid not null,
  at        bigint not null,
  next_at   bigint,
  done_at   bigint,
  attempts  integer not null default 0,
  failed    integer not null default 0,
  status    smallint not null default 0,
  message   text collate "C" not null,
  event     text not null,
  data      text not null,
  log       text not null default '[]',
  primary key (channel, message)
) with (fillfactor = 70);

create index delivery_due on hf.delivery (channel, next_at) where next_at is not null;
create index delivery_list on hf.delivery (channel, at, message);
create index delivery_status on hf.delivery (channel, status, at, message);
create index delivery_at on hf.delivery (at);

create function hf.announce_ended() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'execution-ended_' || new.id, 'execution-ended', new.ended_at,
         json_build_object('execution', new.id, 'pipeline', new.pipeline, 'key', new.key, 'status', new.status, 'submittedAt', new.submitted_at)::text,
         new.ended_at
    from hf.channel as c
   where c.project = new.project
     and strpos(c.events, ' execution-ended ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_ended after update of ended_at on hf.execution
  for each row when (old.ended_at is null and new.ended_at is not null and substr(new.pipeline, 1, 9) <> 'holdfast.') execute function hf.announce_ended();

create function hf.announce_dead_letter() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'dead-letter-created_' || new.execution_id, 'dead-letter-created', new.at,
         json_build_object('execution', new.execution_id, 'pipeline', new.pipeline, 'status', new.status, 'category', new.category, 'code', new.code, 'step', new.step, 'attempts', new.attempts)::text,
         new.at
    from hf.channel as c
   where c.project = new.project
     and strpos(c.events, ' dead-letter-created ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_dead_letter after insert on hf.dead_letter
  for each row when (substr(new.pipeline, 1, 9) <> 'holdfast.') execute function hf.announce_dead_letter();

create function hf.announce_question() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-opened_' || new.id, 'question-opened', coalesce((select u.opened_at from hf.await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0),
         json_build_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee)::text,
         coalesce((select u.opened_at from hf.await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0)
    from hf.channel as c
   where c.project = new.project
     and strpos(c.events, ' question-opened ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_question after insert on hf.interaction
  for each row when (new.status = 0) execute function hf.announce_question();

create function hf.announce_answer() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-answered_' || new.id, 'question-answered', new.answered_at,
         json_build_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee, 'answeredBy', new.answered_by)::text,
         new.answered_at
    from hf.channel as c
   where c.project = new.project
     and strpos(c.events, ' question-answered ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_answer after update of status on hf.interaction
  for each row when (old.status <> 10 and new.status = 10) execute function hf.announce_answer();

create function hf.announce_expiry() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-expired_' || i.id, 'question-expired', new.settled_at,
         json_build_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee)::text,
         new.settled_at
    from hf.channel as c
  join hf.interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0
   where c.project = new.project
     and strpos(c.events, ' question-expired ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_expiry after update of status on hf.await_unit
  for each row when (old.status = 0 and new.status in (10, 11) and new.due_at is not null and new.due_at <= new.settled_at) execute function hf.announce_expiry();

create function hf.announce_reminder() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-reminded_' || i.id || '_' || json_array_length(new.about::json -> 'reminders'), 'question-reminded', coalesce(old.next_at, new.opened_at),
         json_build_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee, 'dueAt', new.due_at)::text,
         coalesce(old.next_at, new.opened_at)
    from hf.channel as c
  join hf.interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0
   where c.project = new.project
     and strpos(c.events, ' question-reminded ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_reminder after update of about on hf.await_unit
  for each row when (new.status = 0 and json_array_length(new.about::json -> 'reminders') < json_array_length(old.about::json -> 'reminders')) execute function hf.announce_reminder();

create function hf.announce_release() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'release-changed_' || encode(convert_to(new.pipeline, 'UTF8'), 'hex') || '_' || encode(convert_to(new.project, 'UTF8'), 'hex') || '_' || new.version, 'release-changed', new.at,
         json_build_object('pipeline', new.pipeline, 'version', new.version, 'action', new.act, 'release', new.name, 'actor', new.actor, 'reason', new.reason)::text,
         new.at
    from hf.channel as c
   where c.project = new.project
     and strpos(c.events, ' release-changed ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_release after insert on hf.activation
  for each row execute function hf.announce_release();

create function hf.announce_lost_lease() returns trigger language plpgsql as $$
begin
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, 'lease-lost_' || new.fence, 'lease-lost', new.at,
         json_build_object('key', substr(new.key, length(c.key_prefix) + 1), 'fence', new.fence, 'owner', new.owner, 'session', new.session_id)::text,
         new.at
    from hf.channel as c
   where c.key_prefix = substr(new.key, 1, strpos(new.key, ':'))
     and strpos(c.events, ' lease-lost ') > 0
      on conflict do nothing;
  return null;
end $$;

create trigger announce_lost_lease after insert on hf.event
  for each row when (new.kind = 'ended' and new.key is not null and new.detail ->> 'exit' = 'expired') execute function hf.announce_lost_lease();
