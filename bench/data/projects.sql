-- Inserts the projects $2 of the user $1, each with labels (of $3, $4 a project) and three fields. The tasks exist already. Only
-- the newest event of each project has not expired. The users $5 are members, but the first of them of 20 projects only.
with project as (
  insert into projects (id, owner_id, name, created_at, event_id)
  select id, $1::uuid, 'Project ' || n, now(), uuidv7() from unnest($2::uuid[]) with ordinality p (id, n)
  returning *
),
stream as (
  insert into streams (project_id, version, last_number, last_event_id)
  select p.id, count(*) + 1, count(*), p.event_id
  from project p join tasks t on t.project_id = p.id group by p.id, p.event_id
  returning *
),
event as (
  insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
  select p.id, version, event_id, 'project.updated', 'project', p.id, owner_id, created_at, '{"name": "Project"}',
    jsonb_build_object('id', p.id, 'name', name)
  from project p join stream s on s.project_id = p.id
),
label as (
  insert into labels (id, project_id, name, created_at, event_id)
  select id, ($2::uuid[])[1 + (n::int - 1) / $4::int], 'L' || n, now(), uuidv7()
  from unnest($3::uuid[]) with ordinality l (id, n)
),
member as (
  insert into members (id, project_id, user_id, role, created_at, event_id)
  select uuidv7(), p.id, u.id, 'EDITOR', now(), uuidv7()
  from unnest($2::uuid[]) with ordinality p (id, n), unnest($5::uuid[]) with ordinality u (id, n)
  where u.n > 1 or p.n between 2 and 21
)
insert into task_fields (id, project_id, key, name, type, options, created_at, event_id)
select uuidv7(), p.id, f.key, f.key, f.type, f.options::jsonb, now(), uuidv7()
from project p, (values
  ('estimate', 'number', null), ('start', 'date', null), ('size', 'choice', '["S", "M", "L"]')
) f (key, type, options)
