-- Stores the ids for pgbench, as constant arrays in SQL, so that choosing one costs nothing.
create schema bench;
create table bench.arrays (name text primary key, ids uuid[] not null);
alter table bench.arrays alter ids set storage external;
insert into bench.arrays
  select 'projects', array_agg(id order by id) from projects
  union all select 'owners', array_agg(owner_id order by id) from projects
  union all select 'tasks', array_agg(id order by id) from tasks
  union all select 'task_projects', array_agg(project_id order by id) from tasks
  union all select 'task_owners', array_agg(p.owner_id order by t.id)
    from tasks t join projects p on p.id = t.project_id;
create function bench.projects() returns uuid[] immutable language sql
  as $$ select ids from bench.arrays where name = 'projects' $$;
create function bench.owners() returns uuid[] immutable language sql
  as $$ select ids from bench.arrays where name = 'owners' $$;
create function bench.tasks() returns uuid[] immutable language sql
  as $$ select ids from bench.arrays where name = 'tasks' $$;
create function bench.task_projects() returns uuid[] immutable language sql
  as $$ select ids from bench.arrays where name = 'task_projects' $$;
create function bench.task_owners() returns uuid[] immutable language sql
  as $$ select ids from bench.arrays where name = 'task_owners' $$;
