-- One statement, which writes the rows of the commit: no service can do less.
\set p random(1, :projects)
with s as (update streams set version = version + 1, last_event_id = uuidv7(), last_number = last_number + 1
  where project_id = (bench.projects())[:p]
  returning project_id, version, last_number, uuidv7() as task, last_event_id as event),
key as (insert into idempotency_keys (scope, key, fingerprint, status, body, etag)
  select (bench.owners())[:p]::text, event::text, repeat('f', 43), 201, repeat('b', 350), event::text
  from s),
t as (insert into tasks (id, project_id, number, title, description, status, priority, due_date, assignee_id,
    created_at, updated_at, event_id)
  select task, project_id, last_number, 'Task 123456789', 'To be measured', 'TODO', 'MEDIUM', null, null,
    now(), now(), event
  from s)
insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
  select project_id, version, event, 'task.created', 'task', task, (bench.owners())[:p], now(),
    null,
    jsonb_build_object('id', task, 'projectId', project_id, 'number', last_number, 'title', 'Task 123456789',
      'description', 'To be measured', 'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null,
      'createdAt', now(), 'updatedAt', now(), 'eventId', event),
    task
  from s;
