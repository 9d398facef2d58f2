-- Inserts the project $1 of the user $2 with $3 tasks, and the events that create the tasks.
with made as materialized (
  select n, uuidv7() as id, uuidv7() as event from generate_series(1, $3::int) n
),
project as (
  insert into projects (id, owner_id, name, created_at, event_id)
  values ($1::uuid, $2::uuid, 'Large', now(), uuidv7())
),
task as (
  insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
  select id, $1::uuid, n, 'Task ' || n, 'TODO', (array['LOW', 'MEDIUM', 'HIGH'])[1 + n % 3], now(), now(), event
  from made
),
event as (
  insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, after)
  select $1::uuid, n, event, 'task.created', 'task', id, $2::uuid, now(),
    jsonb_build_object('id', id, 'projectId', $1::text, 'number', n, 'title', 'Task ' || n)
  from made
)
insert into streams (project_id, version, last_number, last_event_id)
select $1::uuid, n, n, event from made where n = $3::int
