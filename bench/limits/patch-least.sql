-- One statement, which writes the rows of the commit: no service can do less.
\set t random(1, :tasks)
\set n random(100000000, 999999999)
with s as (update streams set version = version + 1, last_event_id = uuidv7()
  where project_id = (bench.task_projects())[:t]
  returning project_id, version, last_number, uuidv7() as task, last_event_id as event),
t as (update tasks set title = 'Patched ' || :n::text, updated_at = now(), event_id = s.event
  from s where tasks.id = (bench.tasks())[:t]
  returning s.project_id, s.version, s.event, new.id as task, new.number, new.description, new.created_at,
    old.title as old_title, old.updated_at as old_updated_at, old.event_id as old_event_id)
insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
  select project_id, version, event, 'task.updated', 'task', task, (bench.task_owners())[:t], now(),
    jsonb_build_object('title', old_title, 'updatedAt', old_updated_at, 'eventId', old_event_id),
    jsonb_build_object('id', task, 'projectId', project_id, 'number', number, 'title', 'Patched ' || :n::text,
      'description', description, 'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null,
      'createdAt', created_at, 'updatedAt', now(), 'eventId', event),
    task
  from t;
