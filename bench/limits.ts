// What Postgres alone can do for a request, as pgbench scripts. `least`: one statement, which writes the rows of a commit, or
// reads the row and checks that the caller may see it; no service can do less. `usual`: one transaction of several prepared
// statements, as most services write, but without a check of the role.

export interface LimitScript {
  share: number
  text: string
}

const choose = (name: string, count: number) => `\\set ${name} random(1, ${count})\n`
const [project, owner] = ['(bench.projects())[:p]', '(bench.owners())[:p]']
const [task, taskProject, taskOwner] = ['tasks', 'task_projects', 'task_owners'].map(
  (name) => `(bench.${name}())[:t]`,
)

/** Increments the project's version, which also locks the project. */
const increment = (projectId = project, also = '') => `update streams
  set version = version + 1, last_event_id = uuidv7()${also} where project_id = ${projectId}
  returning project_id, version, last_number, uuidv7() as task, last_event_id as event`

/** The columns of a step in a transaction, which are variables of pgbench. */
const variables = (columns: string) => `(select ${columns.replace(/(\w+) (\w+)/g, ':$1::$2 as $1')}) s`
const taken = variables('project_id uuid, version bigint, last_number int, task uuid, event uuid')

const insertEvent = (type: string, actor = owner, before: string, after: string, from: string) =>
  `insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
  select project_id, version, event, '${type}', 'task', task, ${actor}, now(), ${before}, ${after}, task from ${from};\n`

const taskJson = (
  number: string,
  title: string,
  description: string,
  createdAt: string,
) => `jsonb_build_object(
  'id', task, 'projectId', project_id, 'number', ${number}, 'title', ${title}, 'description', ${description},
  'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null, 'createdAt', ${createdAt},
  'updatedAt', now(), 'eventId', event)`

const insertTask = (
  from: string,
) => `insert into tasks (id, project_id, number, title, description, status, priority, due_date, assignee_id,
    created_at, updated_at, event_id)
  select task, project_id, last_number, 'Task 123456789', 'To be measured', 'TODO', 'MEDIUM', null, null, now(), now(), event from ${from}`

const insertCreated = (from: string) => {
  const created = taskJson('last_number', `'Task 123456789'`, `'To be measured'`, 'now()')
  return insertEvent('task.created', owner, 'null', created, from)
}

const findKey = `select count(*) from idempotency_keys
where scope = ${owner}::text and key = (select gen_random_uuid()::text);\n`
const insertKey = (
  from: string,
) => `insert into idempotency_keys (scope, key, fingerprint, status, body, etag)
  select ${owner}::text, event::text, repeat('f', 43), 201, repeat('b', 350), event::text from ${from}`

/** @param projects the number of projects; with one, all creates are in one project */
export function createLimits(projects: number, isKeyed = false) {
  const chosen = choose('p', projects)
  const next = increment(project, ', last_number = last_number + 1')
  const [key, find, store] = isKeyed
    ? [`r as (${insertKey('s')}),\n`, findKey, `${insertKey(taken)};\n`]
    : ['', '', '']
  return {
    least: `${chosen}with s as (${next}),\n${key}t as (${insertTask('s')})\n${insertCreated('s')}`,
    usual: `${chosen}begin;\n${find}${next} \\gset\n${insertTask(taken)};\n${insertCreated(taken)}${store}commit;\n`,
  }
}

/** A change of a title. The event has the changed fields of the previous row, and the new row. */
export function patchLimits(tasks: number) {
  const chosen = `${choose('t', tasks)}\\set n random(100000000, 999999999)\n`
  const title = `'Patched ' || :n::text`
  const set = (event: string) => `set title = ${title}, updated_at = now(), event_id = ${event}`
  const before = `jsonb_build_object('title', old_title, 'updatedAt', old_updated_at, 'eventId', old_event_id)`
  const insertUpdated = (from: string) =>
    insertEvent(
      'task.updated',
      taskOwner,
      before,
      taskJson('number', title, 'description', 'created_at'),
      from,
    )
  const changed = variables(
    'project_id uuid, version bigint, event uuid, task uuid, old_title text, old_updated_at text, old_event_id uuid, ' +
      'number int, description text, created_at text',
  )
  return {
    least: `${chosen}with s as (${increment(taskProject)}),
t as (update tasks ${set('s.event')} from s where tasks.id = ${task} returning s.project_id, s.version, s.event,
  new.id as task, old.title as old_title, old.updated_at as old_updated_at, old.event_id as old_event_id,
  new.number, new.description, new.created_at)
${insertUpdated('t')}`,
    usual: `${chosen}begin;
${increment(taskProject)} \\gset
select id as task, title as old_title, updated_at as old_updated_at, event_id as old_event_id, number, description, created_at
  from tasks where id = ${task} \\gset
update tasks ${set(':event::uuid')} where id = ${task};
${insertUpdated(changed)}commit;
`,
  }
}

const visibleTo = (user = owner) => `left join members m on m.project_id = p.id and m.user_id = ${user}
where (p.owner_id = ${user} or m.role is not null)`
const visibleProject = `${visibleTo()} and p.id = ${project}`

export const readLimits = {
  task: (
    count: number,
  ) => `${choose('t', count)}select t.* from tasks t join projects p on p.id = t.project_id
${visibleTo(taskOwner)} and t.id = ${task};\n`,
  tasks: (count: number) => `${choose('p', count)}select t.* from tasks t
where t.project_id = ${project} and exists (select from projects p ${visibleProject}) order by t.id limit 20;\n`,
  /** The query of an unchanged list, if its project has a version. */
  version: (count: number) => `${choose('p', count)}select s.version
from projects p join streams s on s.project_id = p.id ${visibleProject};\n`,
  projects: (count: number) => `${choose('p', count)}select * from projects where owner_id = ${owner}
union all select p.* from members m join projects p on p.id = m.project_id where m.user_id = ${owner}
order by id limit 1000;\n`,
}
