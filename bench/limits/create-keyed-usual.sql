-- One transaction of several prepared statements, as most services write, but without a check of the role.
\set p random(1, :projects)
begin;
select count(*) from idempotency_keys
where scope = (bench.owners())[:p]::text and key = (select gen_random_uuid()::text);
update streams set version = version + 1, last_event_id = uuidv7(), last_number = last_number + 1
  where project_id = (bench.projects())[:p]
  returning project_id, version, last_number, uuidv7() as task, last_event_id as event \gset
insert into tasks (id, project_id, number, title, description, status, priority, due_date, assignee_id,
    created_at, updated_at, event_id)
  select task, project_id, last_number, 'Task 123456789', 'To be measured', 'TODO', 'MEDIUM', null, null,
    now(), now(), event
  from (select :project_id::uuid as project_id, :version::bigint as version, :last_number::int as last_number,
    :task::uuid as task, :event::uuid as event) s;
insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
  select project_id, version, event, 'task.created', 'task', task, (bench.owners())[:p], now(),
    null,
    jsonb_build_object('id', task, 'projectId', project_id, 'number', last_number, 'title', 'Task 123456789',
      'description', 'To be measured', 'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null,
      'createdAt', now(), 'updatedAt', now(), 'eventId', event),
    task
  from (select :project_id::uuid as project_id, :version::bigint as version, :last_number::int as last_number,
    :task::uuid as task, :event::uuid as event) s;
insert into idempotency_keys (scope, key, fingerprint, status, body, etag)
  select (bench.owners())[:p]::text, event::text, repeat('f', 43), 201, repeat('b', 350), event::text
  from (select :project_id::uuid as project_id, :version::bigint as version, :last_number::int as last_number,
    :task::uuid as task, :event::uuid as event) s;
commit;
