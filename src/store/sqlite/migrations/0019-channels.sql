-- older builds may run: yes
--
-- Channels (docs/spec/channels.md). Triggers write what happened in the transaction in which it happens, so builds before
-- this one announce it too. Without a channel that asks for it, they write nothing.

-- `uid` is another one after a channel was removed and made again. `events` has a space around each word. `key_prefix` is
-- how the lease keys of the project begin. `secret` names what the secret is derived from; it is no secret.
create table channel (
  project         text    not null,
  id              text    not null,
  uid             text    not null unique,
  kind            text    not null,
  url             text    not null,
  events          text    not null,
  key_prefix      text    not null,
  paused          integer not null,
  failures        integer not null default 0,
  open_until      integer,
  secret          text    not null,
  previous_secret text,
  previous_until  integer,
  created_at      integer not null,
  changed_at      integer not null,
  put_by          text,
  primary key (project, id)
) strict, without rowid;

create index channel_key_prefix on channel (key_prefix);

-- One message of one channel. `status`: 0 pending, 1 delivered, 2 failed. `attempts` fences: each claim of the row counts it.
create table delivery (
  channel  text    not null,
  message  text    not null,
  event    text    not null,
  at       integer not null,
  data     text    not null,
  next_at  integer,
  attempts integer not null default 0,
  failed   integer not null default 0,
  status   integer not null default 0,
  done_at  integer,
  log      text    not null default '[]',
  primary key (channel, message)
) strict, without rowid;

create index delivery_due on delivery (channel, next_at) where next_at is not null;
create index delivery_list on delivery (channel, at, message);
create index delivery_status on delivery (channel, status, at, message);
create index delivery_at on delivery (at);

create trigger announce_ended after update of ended_at on execution
  when old.ended_at is null and new.ended_at is not null and substr(new.pipeline, 1, 9) <> 'holdfast.'
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'execution-ended_' || new.id, 'execution-ended', new.ended_at,
         json_object('execution', new.id, 'pipeline', new.pipeline, 'key', new.key, 'status', new.status, 'submittedAt', new.submitted_at),
         new.ended_at
    from channel as c
   where c.project = new.project
     and instr(c.events, ' execution-ended ') > 0
      on conflict do nothing;
end;

create trigger announce_dead_letter after insert on dead_letter
  when substr(new.pipeline, 1, 9) <> 'holdfast.'
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'dead-letter-created_' || new.execution_id, 'dead-letter-created', new.at,
         json_object('execution', new.execution_id, 'pipeline', new.pipeline, 'status', new.status, 'category', new.category, 'code', new.code, 'step', new.step, 'attempts', new.attempts),
         new.at
    from channel as c
   where c.project = new.project
     and instr(c.events, ' dead-letter-created ') > 0
      on conflict do nothing;
end;

create trigger announce_question after insert on interaction
  when new.status = 0
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-opened_' || new.id, 'question-opened', coalesce((select u.opened_at from await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0),
         json_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee),
         coalesce((select u.opened_at from await_unit as u where u.execution_id = new.execution_id and u.call = new.call), 0)
    from channel as c
   where c.project = new.project
     and instr(c.events, ' question-opened ') > 0
      on conflict do nothing;
end;

create trigger announce_answer after update of status on interaction
  when old.status <> 10 and new.status = 10
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-answered_' || new.id, 'question-answered', new.answered_at,
         json_object('interaction', new.id, 'execution', new.execution_id, 'name', new.name, 'assignee', new.assignee, 'answeredBy', new.answered_by),
         new.answered_at
    from channel as c
   where c.project = new.project
     and instr(c.events, ' question-answered ') > 0
      on conflict do nothing;
end;

create trigger announce_expiry after update of status on await_unit
  when old.status = 0 and new.status in (10, 11) and new.due_at is not null and new.due_at <= new.settled_at
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-expired_' || i.id, 'question-expired', new.settled_at,
         json_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee),
         new.settled_at
    from channel as c
  join interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0
   where c.project = new.project
     and instr(c.events, ' question-expired ') > 0
      on conflict do nothing;
end;

create trigger announce_reminder after update of about on await_unit
  when new.status = 0 and json_array_length(new.about, '$.reminders') < json_array_length(old.about, '$.reminders')
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'question-reminded_' || i.id || '_' || json_array_length(new.about, '$.reminders'), 'question-reminded', coalesce(old.next_at, new.opened_at),
         json_object('interaction', i.id, 'execution', i.execution_id, 'name', new.name, 'assignee', i.assignee, 'dueAt', new.due_at),
         coalesce(old.next_at, new.opened_at)
    from channel as c
  join interaction as i on i.execution_id = new.execution_id and i.call = new.call and i.status = 0
   where c.project = new.project
     and instr(c.events, ' question-reminded ') > 0
      on conflict do nothing;
end;

create trigger announce_release after insert on activation
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'release-changed_' || lower(hex(new.pipeline)) || '_' || lower(hex(new.project)) || '_' || new.version, 'release-changed', new.at,
         json_object('pipeline', new.pipeline, 'version', new.version, 'action', new.act, 'release', new.name, 'actor', new.actor, 'reason', new.reason),
         new.at
    from channel as c
   where c.project = new.project
     and instr(c.events, ' release-changed ') > 0
      on conflict do nothing;
end;

create trigger announce_lost_lease after insert on event
  when new.kind = 'ended' and new.key is not null and new.detail ->> 'exit' = 'expired'
begin
  insert into delivery (channel, message, event, at, data, next_at)
  select c.uid, 'lease-lost_' || new.fence, 'lease-lost', new.at,
         json_object('key', substr(new.key, length(c.key_prefix) + 1), 'fence', new.fence, 'owner', new.owner, 'session', new.session_id),
         new.at
    from channel as c
   where c.key_prefix = substr(new.key, 1, instr(new.key, ':'))
     and instr(c.events, ' lease-lost ') > 0
      on conflict do nothing;
end;
