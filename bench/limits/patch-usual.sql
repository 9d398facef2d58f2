-- One transaction of several prepared statements, as most services write, but without a check of the role.
\set t random(1, :tasks)
\set n random(100000000, 999999999)
begin;
update streams set version = version + 1, last_event_id = uuidv7()
  where project_id = (bench.task_projects())[:t]
  returning project_id, version, last_number, uuidv7() as task, last_event_id as event \gset
select id as task, title as old_title, updated_at as old_updated_at, event_id as old_event_id, number, description, created_at
  from tasks where id = (bench.tasks())[:t] \gset
update tasks set title = 'Patched ' || :n::text, updated_at = now(), event_id = :event::uuid where id = (bench.tasks())[:t];
insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
  select project_id, version, event, 'task.updated', 'task', task, (bench.task_owners())[:t], now(),
    jsonb_build_object('title', old_title, 'updatedAt', old_updated_at, 'eventId', old_event_id),
    jsonb_build_object('id', task, 'projectId', project_id, 'number', number, 'title', 'Patched ' || :n::text,
      'description', description, 'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null,
      'createdAt', created_at, 'updatedAt', now(), 'eventId', event),
    task
  from (select :project_id::uuid as project_id, :version::bigint as version, :event::uuid as event, :task::uuid as task,
    :old_title::text as old_title, :old_updated_at::text as old_updated_at, :old_event_id::uuid as old_event_id,
    :number::int as number, :description::text as description, :created_at::text as created_at) s;
commit;
