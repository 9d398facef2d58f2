// The rows that the service commits for one request, in one statement: the least work that can write them. One round trip,
// no reads, and no check of a role.

const spread = (count: number) => `\\set p random(1, ${count})`
const hot = '\\set p 1'

/** Takes the project's next version, which also locks the project. */
const take = (project: string, number = '') => `with s as (update streams
  set version = version + 1${number && ', last_number = last_number + 1'} where project_id = ${project}
  returning project_id, version, last_number, uuidv7() as entity, uuidv7() as event)`

const log = (
  type: string,
  id: string,
  actor: string,
  before: string,
  after: string,
  from: string,
  taskId = id,
) =>
  `insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
  select project_id, version, event, '${type}', '${type.split('.')[0]}', ${id}, ${actor}, now(), ${before}, ${after}, ${taskId}
  from ${from};
`

const record = `r as (insert into idempotency_keys (scope, key, fingerprint, status, body, etag)
  select (bench.owners())[:p]::text, event::text, repeat('f', 43), 201, repeat('b', 350), event::text from s),
`

const create = (pick: string, others = '') => `${pick}
${take('(bench.projects())[:p]', 'too')},
${others}t as (insert into tasks (id, project_id, number, title, description, status, priority, due_date, assignee_id,
    created_at, updated_at, event_id)
  select entity, project_id, last_number, 'Task 123456789', 'To be measured', 'TODO', 'MEDIUM', null, null,
    now(), now(), event from s)
${log(
  'task.created',
  'entity',
  '(bench.owners())[:p]',
  'null',
  `jsonb_build_object('id', entity, 'projectId', project_id, 'number', last_number, 'title', 'Task 123456789',
    'description', 'To be measured', 'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null,
    'createdAt', now(), 'updatedAt', now(), 'eventId', event)`,
  's',
)}`

/** The changed fields of the previous row. */
const patch = (count: number) => `\\set t random(1, ${count})
\\set n random(100000000, 999999999)
${take('(bench.task_projects())[:t]')},
t as (update tasks set title = 'Patched ' || :n::text, updated_at = now(), event_id = s.event
  from s where tasks.id = (bench.tasks())[:t]
  returning s.project_id, s.version, s.event, old as was, new as made)
${log(
  'task.updated',
  '(made).id',
  '(bench.task_owners())[:t]',
  `jsonb_build_object('title', (was).title, 'updatedAt', (was).updated_at, 'eventId', (was).event_id)`,
  `jsonb_build_object('id', (made).id, 'projectId', project_id, 'number', (made).number, 'title', (made).title,
    'description', (made).description, 'status', (made).status, 'priority', (made).priority,
    'dueDate', (made).due_date, 'assigneeId', (made).assignee_id, 'createdAt', (made).created_at,
    'updatedAt', (made).updated_at, 'eventId', event)`,
  't',
)}`

const toggleHot = () => `${hot}
${take('(bench.projects())[:p]')},
t as (update subtasks set completed = not completed, event_id = s.event
  from s where subtasks.id = (bench.hot_subtask())[:p]
  returning s.project_id, s.version, s.event, old as was, new as made)
${log(
  'subtask.toggled',
  '(made).id',
  '(bench.owners())[:p]',
  `jsonb_build_object('completed', (was).completed, 'eventId', (was).event_id)`,
  `jsonb_build_object('id', (made).id, 'taskId', (made).task_id, 'title', (made).title,
    'completed', (made).completed, 'createdAt', (made).created_at, 'eventId', event)`,
  't',
  '(made).task_id',
)}`

export const leastWrites = {
  createSpread: (projects: number) => create(spread(projects)),
  createKeyed: (projects: number) => create(spread(projects), record),
  createHot: () => create(hot),
  patchSpread: patch,
  toggleHot,
}
