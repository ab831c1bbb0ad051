-- older builds may run: yes
--
-- The JSON Schema of a pipeline's input, as a worker announces it (RE-21). Forms are made from it.

create table hf.worker_input (
  session_id uuid not null,
  pipeline   text collate "C" not null,
  schema     text not null,
  primary key (session_id, pipeline)
);

create index worker_input_pipeline on hf.worker_input (pipeline, session_id);
