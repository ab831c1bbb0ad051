-- older builds may run: yes
--
-- The JSON Schema of a pipeline's input, as a worker announces it (RE-21). Forms are made from it.

create table worker_input (
  session_id text not null,
  pipeline   text not null,
  schema     text not null,
  primary key (session_id, pipeline)
) strict, without rowid;

create index worker_input_pipeline on worker_input (pipeline, session_id);
