// The rows that the service commits for one request, written as most services do: one transaction of several prepared
// statements. Lighter than usual: the update of the version locks first, so no row is read twice, and no role is checked.

const taskColumns = `id, project_id, number, title, description, status, priority, due_date, assignee_id,
  created_at, updated_at, event_id`
const eventColumns = 'project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id'
const spread = (count: number) => `\\set p random(1, ${count})`
const title = `'Task 123456789'`
const text = `'To be measured'`
const hot = '\\set p 1'

const takeVersion = (project: string, number = '') => `update streams
set version = version + 1${number && ', last_number = last_number + 1'} where project_id = ${project}
returning project_id, version, last_number, uuidv7() as entity, uuidv7() as event \\gset`

function task(id: string, title: string, text: string, createdAt: string, event: string): string {
  return `jsonb_build_object(
  'id', ${id}, 'projectId', :project_id::uuid, 'number', :last_number::int, 'title', ${title},
  'description', ${text}, 'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null,
  'createdAt', ${createdAt}, 'updatedAt', now(), 'eventId', ${event})`
}

const event = (type: string, id: string, actor: string, before: string, after: string, taskId = id) =>
  `insert into events (${eventColumns}) values (:project_id::uuid, :version::bigint, :event::uuid, '${type}',
  '${type.split('.')[0]}', ${id}, ${actor}, now(), ${before}, ${after}, ${taskId});`

/** The look-up of the key, and its record. */
const [find, record] = [
  `select count(*) from idempotency_keys
where scope = (bench.owners())[:p]::text and key = (select gen_random_uuid()::text);
`,
  `insert into idempotency_keys (scope, key, fingerprint, status, body, etag)
  values ((bench.owners())[:p]::text, :event, repeat('f', 43), 201, repeat('b', 350), :event);
`,
]

function create(pick: string, isKeyed = false): string {
  const after = task(':entity::uuid', title, text, 'now()', ':event::uuid')
  return `${pick}
begin;
${isKeyed ? find : ''}${takeVersion('(bench.projects())[:p]', 'too')}
insert into tasks (${taskColumns}) values (:entity::uuid, :project_id::uuid, :last_number::int,
  ${title}, ${text}, 'TODO', 'MEDIUM', null, null, now(), now(), :event::uuid);
${event('task.created', ':entity::uuid', '(bench.owners())[:p]', 'null', after)}
${isKeyed ? record : ''}commit;
`
}

function patch(count: number): string {
  const id = '(bench.tasks())[:t]'
  const before = `jsonb_build_object('title', :title::text, 'updatedAt', :updated_at::text, 'eventId', :event_id::uuid)`
  const after = task(id, `'Patched ' || :n::text`, ':description::text', ':created_at::text', ':event::uuid')
  return `\\set t random(1, ${count})
\\set n random(100000000, 999999999)
begin;
${takeVersion('(bench.task_projects())[:t]')}
select title, description, created_at, updated_at, event_id, number as last_number from tasks where id = ${id} \\gset
update tasks set title = 'Patched ' || :n::text, updated_at = now(), event_id = :event::uuid where id = ${id};
${event('task.updated', id, '(bench.task_owners())[:t]', before, after)}
commit;
`
}

const toggled = `jsonb_build_object('id', (bench.hot_subtask())[:p],
  'taskId', :task_id::uuid, 'title', :title::text, 'completed', not :completed::bool,
  'createdAt', :created_at::text, 'eventId', :event::uuid)`

function toggleHot(): string {
  const id = '(bench.hot_subtask())[:p]'
  const before = `jsonb_build_object('completed', :completed::bool, 'eventId', :event_id::uuid)`
  return `${hot}
begin;
${takeVersion('(bench.projects())[:p]')}
select task_id, title, completed, created_at, event_id from subtasks where id = ${id} \\gset
update subtasks set completed = not completed, event_id = :event::uuid where id = ${id};
${event('subtask.toggled', id, '(bench.owners())[:p]', before, toggled, ':task_id::uuid')}
commit;
`
}

export const usualWrites = {
  createSpread: (projects: number) => create(spread(projects)),
  createKeyed: (projects: number) => create(spread(projects), true),
  createHot: () => create(hot),
  patchSpread: patch,
  toggleHot,
}
