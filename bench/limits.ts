// What Postgres alone can do for a request, as pgbench scripts. `least`: one statement, which writes the rows of a commit, or
// reads the row and checks that the caller may see it; no service can do less. `usual`: one transaction of several prepared
// statements, as most services write, but without a check of the role.

export interface LimitScript {
  share: number
  text: string
}

/** SQL for the values of a create or a change: columns of the statement, or variables of pgbench. */
interface Values {
  project: string
  version: string
  number: string
  task: string
  event: string
}
const ofStatement: Values = {
  ...{ project: 'project_id', version: 'version', number: 'last_number', task: 'task', event: 'event' },
}
const ofVariables: Values = {
  ...{ project: ':project_id::uuid', version: ':version::bigint', number: ':last_number::int' },
  ...{ task: ':task::uuid', event: ':event::uuid' },
}

const spread = (name: string, count: number) => `\\set ${name} random(1, ${count})\n`
const owner = '(bench.owners())[:p]'

/** Takes the project's next version, which also locks the project. */
const take = (project: string, number = '') => `update streams
  set version = version + 1${number && ', last_number = last_number + 1'} where project_id = ${project}
  returning project_id, version, last_number, uuidv7() as task, uuidv7() as event`

const taskJson = (of: Values, title: string, text: string, createdAt: string) => `jsonb_build_object(
  'id', ${of.task}, 'projectId', ${of.project}, 'number', ${of.number}, 'title', ${title}, 'description', ${text},
  'status', 'TODO', 'priority', 'MEDIUM', 'dueDate', null, 'assigneeId', null, 'createdAt', ${createdAt},
  'updatedAt', now(), 'eventId', ${of.event})`

const [title, text] = [`'Task 123456789'`, `'To be measured'`]

const insertTask = (
  of: Values,
  from = '',
) => `insert into tasks (id, project_id, number, title, description, status, priority,
    due_date, assignee_id, created_at, updated_at, event_id)
  select ${of.task}, ${of.project}, ${of.number}, ${title}, ${text}, 'TODO', 'MEDIUM', null, null, now(), now(), ${of.event} ${from}`

const insertEvent = (of: Values, type: string, actor: string, before: string, after: string, from = '') =>
  `insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after, task_id)
  select ${of.project}, ${of.version}, ${of.event}, '${type}', 'task', ${of.task}, ${actor}, now(), ${before}, ${after}, ${of.task} ${from};
`

const insertKey = (of: Values, from = '') =>
  `insert into idempotency_keys (scope, key, fingerprint, status, body, etag)
  select ${owner}::text, ${of.event}::text, repeat('f', 43), 201, repeat('b', 350), ${of.event}::text ${from}`

const findKey = `select count(*) from idempotency_keys
where scope = ${owner}::text and key = (select gen_random_uuid()::text);
`

/** @param projects the number of projects; with one, all creates are in one project */
export function createLimits(projects: number, isKeyed = false) {
  const takeNext = take('(bench.projects())[:p]', 'too')
  const event = (of: Values, from?: string) =>
    insertEvent(of, 'task.created', owner, 'null', taskJson(of, title, text, 'now()'), from)
  const key = isKeyed ? `r as (${insertKey(ofStatement, 'from s')}),\n` : ''
  return {
    least: `${spread('p', projects)}with s as (${takeNext}),
${key}t as (${insertTask(ofStatement, 'from s')})
${event(ofStatement, 'from s')}`,
    usual: `${spread('p', projects)}begin;
${isKeyed ? findKey : ''}${takeNext} \\gset
${insertTask(ofVariables)};
${event(ofVariables)}${isKeyed ? `${insertKey(ofVariables)};\n` : ''}commit;
`,
  }
}

const changed = (title: string, updatedAt: string, event: string) =>
  `jsonb_build_object('title', ${title}, 'updatedAt', ${updatedAt}, 'eventId', ${event})`

/** A change of a title. The event has the changed fields of the previous row, and the new row. */
export function patchLimits(tasks: number) {
  const [id, actor] = ['(bench.tasks())[:t]', '(bench.task_owners())[:t]']
  const pick = `${spread('t', tasks)}\\set n random(100000000, 999999999)\n`
  const takeNext = take('(bench.task_projects())[:t]')
  const set = (event: string) => `set title = 'Patched ' || :n::text, updated_at = now(), event_id = ${event}`
  const own = { ...ofStatement, task: '(made).id', number: '(made).number' }
  const read = { ...ofVariables, task: id, number: ':number::int' }
  const before = [
    changed('(was).title', '(was).updated_at', '(was).event_id'),
    changed(':title::text', ':updated_at::text', ':event_id::uuid'),
  ] as const
  const after = [
    taskJson(own, '(made).title', '(made).description', '(made).created_at'),
    taskJson(read, `'Patched ' || :n::text`, ':description::text', ':created_at::text'),
  ] as const
  return {
    least: `${pick}with s as (${takeNext}),
t as (update tasks ${set('s.event')} from s where tasks.id = ${id}
  returning s.project_id, s.version, s.event, old as was, new as made)
${insertEvent(own, 'task.updated', actor, before[0], after[0], 'from t')}`,
    usual: `${pick}begin;
${takeNext} \\gset
select title, description, created_at, updated_at, event_id, number from tasks where id = ${id} \\gset
update tasks ${set(':event::uuid')} where id = ${id};
${insertEvent(read, 'task.updated', actor, before[1], after[1])}commit;
`,
  }
}

const seen = (user: string) => `left join members m on m.project_id = p.id and m.user_id = ${user}
where (p.owner_id = ${user} or m.role is not null)`
const seenProject = `${seen(owner)} and p.id = (bench.projects())[:p]`

export const readLimits = {
  task: (
    count: number,
  ) => `${spread('t', count)}select t.* from tasks t join projects p on p.id = t.project_id
${seen('(bench.task_owners())[:t]')} and t.id = (bench.tasks())[:t];
`,
  tasks: (count: number) => `${spread('p', count)}select t.* from tasks t
where t.project_id = (bench.projects())[:p] and exists (select from projects p ${seenProject})
order by t.id limit 20;
`,
  /** The query of an unchanged list, if its project has a version. */
  version: (
    count: number,
  ) => `${spread('p', count)}select s.version from projects p join streams s on s.project_id = p.id ${seenProject};
`,
  projects: (count: number) => `${spread('p', count)}select * from projects where owner_id = ${owner}
union all select p.* from members m join projects p on p.id = m.project_id where m.user_id = ${owner}
order by id limit 1000;
`,
}
