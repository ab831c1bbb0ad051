-- older builds may run: yes
--
-- Alert rules of channels (CH-14, CH-15). `alerts` has the limits of a channel that asks for alerts. Coordinators evaluate
-- them when `alerts_at` is due; `alerts_round` fences a round.

alter table channel add column alerts text;
alter table channel add column alerts_at integer;
alter table channel add column alerts_round integer not null default 0;

create index channel_alerts on channel (alerts_at) where alerts_at is not null;

-- An open alert. `calm` counts the rounds in a row in which its value was low.
create table alert (
  channel   text    not null,
  rule      text    not null,
  route     text    not null,
  incident  text    not null,
  raised_at integer not null,
  calm      integer not null default 0,
  primary key (channel, rule, route)
) strict, without rowid;
