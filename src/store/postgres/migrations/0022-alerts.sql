-- older builds may run: yes
--
-- Alert rules of channels (CH-14, CH-15). `alerts` has the limits of a channel that asks for alerts. Coordinators evaluate
-- them when `alerts_at` is due; `alerts_round` fences a round.

alter table hf.channel add column alerts text;
alter table hf.channel add column alerts_at bigint;
alter table hf.channel add column alerts_round integer not null default 0;

create index channel_alerts on hf.channel (alerts_at) where alerts_at is not null;

-- An open alert. `calm` counts the rounds in a row in which its value was low.
create table hf.alert (
  raised_at  bigint not null,
  channel    uuid not null,
  incident   uuid not null,
  calm       integer not null default 0,
  rule       text collate "C" not null,
  route      text collate "C" not null,
  primary key (channel, rule, route)
);
