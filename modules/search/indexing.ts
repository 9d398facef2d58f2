import { getTableName } from 'drizzle-orm'
import type { FillCursor } from '../../drizzle/schema/search.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import { nilId } from '../../src/id-format.ts'
import { model } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { searchedFields } from '../tasks/schema.ts'
import { documentOf, type DocumentText } from './text.ts'

/** The maximum number of projects and events of one step. Each project gets the same number of events. */
export const maxProjects = 100
const maxEvents = 1_000
/** The event of a moved task counts as this number of events: it contains at most 100 children of 200,000 characters. */
const eventsOfMove = 20
/** A new project with more events is filled from its rows. Other projects are indexed from the beginning of the log. */
const maxEventsOfLog = 20_000

/** A project, and how far it is indexed. Without a cursor, `seq` is 0. */
export interface Progress {
  projectId: string
  version: number
  lastEventId: string
  lastNumber: number
  seq: number
  eventId: string
  /** True until all rows are filled. Then `filled` is the number of the last task, else `lastNumber`. */
  isFilling: boolean
  filled: number
}

/** Returns the projects that exist, those with the newest events first. */
export const readProgress = (sql: Sql, projectIds: string[]): Promise<Progress[]> => sql<Progress[]>`
  select s.project_id, s.version::float8 as version, s.last_event_id, s.last_number, coalesce(c.seq, 0)::float8 as seq,
    coalesce(c.event_id, ${nilId}) as event_id, c.fill is not null as is_filling,
    case when c.fill is null then s.last_number else coalesce((c.fill ->> 'number')::int4, 0) end as filled
  from streams s join projects p on p.id = s.project_id left join search_cursors c on c.project_id = s.project_id
  where s.project_id = any(${projectIds}::uuid[]) order by s.last_event_id desc`

/** After a failover, another event may have the same seq. */
export const isBehind = ({ seq, version, eventId, lastEventId }: Progress, target = version): boolean =>
  seq < target || seq > version || (seq === version && eventId !== lastEventId)

/** The row after an event, or a child of a task that the event moved to the project. */
interface Event extends Row {
  seq: number
  isChange: boolean
  isDeletedTask: boolean
}

/**
 * Indexes the next events of at most `maxProjects` projects. Any number of processes may index the same events in any
 * order: of each row, the document of the newest event remains, and a cursor only moves forward.
 */
export async function indexEvents(sql: Sql, projects: Progress[]): Promise<void> {
  if (projects.length === 0) return
  const toRead = projects.filter(({ seq, version }) => seq > 0 || version <= maxEventsOfLog)
  const events = Map.groupBy(await readEvents(sql, toRead), ({ projectId }) => projectId)
  // The first event must be the event of the cursor. Otherwise the log has expired, or was restored.
  const isKnown = ({ projectId, seq, eventId }: Progress) => {
    const first = events.get(projectId)?.[0]
    return seq === 0 ? first?.seq === 1 : first?.seq === seq && [first.eventId, nilId].includes(eventId)
  }
  const [known, unknown] = [projects.filter(isKnown), projects.filter((one) => !isKnown(one))]
  const changes = known.flatMap(({ projectId, seq }) =>
    events.get(projectId)!.filter((event) => event.seq > seq && event.isChange),
  )
  await writeDocuments(sql, newestOf(changes))
  const deleted = newestOf(changes.filter((event) => event.isDeletedTask))
  if (deleted.length > 0) await deleteChildren(sql, deleted)
  const last = known.map(({ projectId }) => events.get(projectId)!.at(-1)!)
  if (last.length > 0) await moveCursors(sql, last)
  if (unknown.length > 0) await startFills(sql, unknown)
}

/** Returns the newest event of each row. */
const newestOf = (events: Event[]): Event[] => [
  ...new Map(
    events.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)).map((one) => [one.id, one]),
  ).values(),
]

/**
 * Returns the events of the cursors and the next events. A task that leaves a project keeps its documents until its arrival
 * is indexed. The keys of `before` are the changed fields.
 */
async function readEvents(sql: Sql, projects: Progress[]): Promise<Event[]> {
  const children = model().ofTask
  const titles = ['title', 'name', ...children.map(() => '')]
  const texts = ['description', 'description', ...children.map(({ asChild }) => asChild!.text)]
  const limit = Math.ceil(maxEvents / Math.max(1, projects.length))
  const others = searchedFields.reduce(
    (all, name): SqlPart => sql`${all}, case r.kind when 'task' then a.after ->> ${name} end`,
    sql``,
  )
  return sql<Event[]>`
    with kinds as (
      select * from unnest(${['task', 'project', ...children.map(({ name }) => name)]}::text[], ${titles}::text[], ${texts}::text[],
        ${['', '', ...children.map(({ plural }) => plural)]}::text[]) k(kind, title, text, list))
    select e.project_id, e.seq::float8 as seq, e.id as event_id, e.task_id, e.type = 'task.deleted' as is_deleted_task,
      r.kind, r.id, is_change, a.after ->> 'createdAt' as at, case r.kind when 'task' then (a.after ->> 'number')::int4 end as number,
      a.after ->> nullif(k.title, '') as title, concat_ws(e'\n', a.after ->> k.text ${others}) as text
    from unnest(${projects.map(({ projectId }) => projectId)}::uuid[], ${projects.map(({ seq }) => seq)}::bigint[]) p(id, seq)
    cross join lateral (
      select *, sum(case type when 'task.moved_in' then ${eventsOfMove}::int4 else 1 end) over (order by seq) as size
      from (select * from events e where e.project_id = p.id and e.seq >= p.seq order by e.seq limit ${limit + 1}) e) e
    cross join lateral (
      select entity as kind, entity_id as id, e.after
      union all select kind, (c ->> 'id')::uuid, c from kinds cross join lateral jsonb_array_elements(e.after -> list) c
        where e.type = 'task.moved_in') r
    left join kinds k on k.kind = r.kind
    cross join lateral (
      select k.kind is not null and e.type <> 'task.moved_out'
        and (before is null or e.after is null or e.type = 'task.moved_in' or before ?| (array[k.title, k.text] || ${searchedFields}::text[])) as is_change) c
    cross join lateral (select case when is_change then r.after end as after) a
    where e.size <= ${Math.max(limit + 1, 2 * eventsOfMove)} order by e.project_id, e.seq`
}

/** Deletes the words of the children of deleted tasks. After this step, every child has a document. */
async function deleteChildren(sql: Sql, events: Event[]): Promise<void> {
  // Waits for fills that read the children before this step, so that the next statement finds their documents.
  await sql`select from search_cursors where fill is not null
    and project_id = any(${events.map(({ projectId }) => projectId)}::uuid[]) order by project_id for key share`
  await sql`
    update search_documents d set doc = null, title = null, at = now(), event_id = o.event_id from (
      select d.id, e.event_id from unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ eventId }) => eventId)}::uuid[])
        e(task_id, event_id)
      join search_documents d on d.task_id = e.task_id and d.event_id < e.event_id order by d.id for update of d) o
    where d.id = o.id and d.event_id < o.event_id`
}

/** All processes lock the cursors in the order of ids. */
const moveCursors = (sql: Sql, to: Event[]) => sql`
  insert into search_cursors as c (project_id, seq, event_id)
  select p.id, p.seq, p.event_id from unnest(${to.map(({ projectId }) => projectId)}::uuid[], ${to.map(({ seq }) => seq)}::bigint[],
    ${to.map(({ eventId }) => eventId)}::uuid[]) p(id, seq, event_id) join projects r on r.id = p.id
  order by p.id for key share of r
  on conflict (project_id) do update set seq = excluded.seq, event_id = excluded.event_id where c.seq < excluded.seq`

/** The fill reads the rows, and the log has all later changes. Keeps a cursor that another process has moved. */
const startFills = (sql: Sql, projects: Progress[]) => sql`
  insert into search_cursors as c (project_id, seq, event_id, fill)
  select p.id, s.version, s.last_event_id, ${JSON.stringify(fillStart)}::text::jsonb
  from unnest(${projects.map(({ projectId }) => projectId)}::uuid[], ${projects.map(({ seq }) => seq)}::bigint[]) p(id, seq)
  join streams s on s.project_id = p.id join projects r on r.id = p.id left join search_cursors f on f.project_id = p.id
  where coalesce(f.seq, 0) = p.seq order by p.id for key share of r
  on conflict (project_id) do update set seq = excluded.seq, event_id = excluded.event_id, fill = excluded.fill`

/** The texts of a row after an event. Of a deleted row, `at` is null, and the document has no words. */
interface Row extends DocumentText {
  kind: string
  id: string
  taskId: string | null
  projectId: string
  eventId: string
  at: string | null
}

/** The maximum number of rows that one query reads: their texts have at most 40 MB. */
const rowsAtOnce = 500

/**
 * Writes the documents of rows, unless the table has the document of a newer event. All processes lock the rows in the
 * order of ids. A project that is being deleted gets no more documents.
 */
async function writeDocuments(sql: Sql, all: Row[]): Promise<void> {
  if (all.length > rowsAtOnce) await writeDocuments(sql, all.slice(rowsAtOnce))
  if (all.length === 0) return
  const rows = all.slice(0, rowsAtOnce)
  const documents = rows.map((row) => (row.at === null ? { doc: '', words: '' } : documentOf(row)))
  await sql`
    with live as materialized (
      select id from projects where id = any(${[...new Set(rows.map(({ projectId }) => projectId))]}::uuid[]) order by id for key share)
    insert into search_documents as d (id, project_id, kind, task_id, at, event_id, title, doc)
    select id, project_id, kind, nullif(task_id, ${nilId}), coalesce(nullif(at, '')::timestamptz, now()), event_id, nullif(title, ''),
      case when at <> '' then doc::tsvector end
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ projectId }) => projectId)}::uuid[], ${rows.map(({ kind }) => kind)}::text[],
      ${rows.map(({ taskId }) => taskId ?? nilId)}::uuid[], ${rows.map(({ at }) => at ?? '')}::text[],
      ${rows.map(({ eventId }) => eventId)}::uuid[], ${documents.map(({ words }) => words)}::text[],
      ${documents.map(({ doc }) => doc)}::text[]) r(id, project_id, kind, task_id, at, event_id, title, doc)
    where project_id in (select id from live) order by id
    on conflict (id) do update set project_id = excluded.project_id, task_id = excluded.task_id, at = excluded.at,
      event_id = excluded.event_id, title = excluded.title, doc = excluded.doc where d.event_id < excluded.event_id`
}

const fillStart: FillCursor = { task: nilId, id: nilId, number: 0 }

/**
 * Continues the fill of a project: replaces the documents of its next rows, in the order of tasks and ids, also documents of
 * events that the log lost in a failover. A search finds either the old document of a row or the new one. Returns true if
 * more is left.
 */
export const fillNext = (sql: Sql, projectId: string): Promise<boolean> =>
  sql.begin(async (tx) => {
    const own = tx as unknown as Sql
    const [cursor] = await own<{ fill: FillCursor | null }[]>`
      select fill from search_cursors where project_id = ${projectId} for update`
    if (!cursor?.fill) return false
    const { task, number } = cursor.fill
    const page = await own<Pick<Row, 'id' | 'taskId' | 'number'>[]>`
      select id, task_id, number from (${nextRows(own, projectId, cursor.fill)}) r order by task_id, id`
    const last = page.at(-1)
    const next = page.length === rowsAtOnce && {
      ...{ task: last!.taskId, id: last!.id },
      number: page.reduce((most, row) => Math.max(most, row.number ?? 0), number),
    }
    const ids = page.map(({ id }) => id)
    if (task === nilId) ids.push(projectId)
    const locked = await own<{ id: string }[]>`
      select id from search_documents where id = any(${ids}::uuid[]) order by id for update`
    // The texts are read after the lock, because others may have written documents of newer events before the lock.
    const rows = await own<
      Row[]
    >`select * from (${nextRows(own, projectId, cursor.fill)}) r where id = any(${ids}::uuid[])`
    if (task === nilId) rows.push(...(await projectRow(own, projectId)))
    await own`delete from search_documents where id = any(${locked.map(({ id }) => id)}::uuid[])
      and id = any(${rows.map(({ id }) => id)}::uuid[])`
    await writeDocuments(own, rows)
    if (!next) await deleteLost(own, projectId)
    await own`update search_cursors set fill = ${next ? JSON.stringify(next) : null}::text::jsonb where project_id = ${projectId}`
    return next !== false
  }) as Promise<boolean>

/** Deletes documents of rows that do not exist. A task that left the project keeps its documents until its arrival is indexed. */
async function deleteLost(sql: Sql, projectId: string): Promise<void> {
  const kinds = [['task', tasks] as const, ...model().ofTask.map(({ name, table }) => [name, table] as const)]
  for (const [kind, table] of kinds)
    await sql`
      delete from search_documents d where project_id = ${projectId} and kind = ${kind} and doc is not null
        and not exists (select from ${sql(getTableName(table))} r where r.id = d.id)`
}

const projectRow = (sql: Sql, projectId: string) => sql<Row[]>`
  select 'project' as kind, id, null::uuid as task_id, id as project_id, event_id, created_at as at, null::int4 as number,
    name as title, description as text from projects where id = ${projectId}`

const searchedColumns = ['description' as const, ...searchedFields].map((name) => `t.${tasks[name].name}`)
/** SQL for the text of the task `t` besides its title. */
export const taskText = `concat_ws(e'\\n', ${searchedColumns.join()})`

/** SQL for the next rows. In the order of the indexes, so that a page reads at most one page of the children of a task. */
function nextRows(sql: Sql, projectId: string, { task, id }: FillCursor): SqlPart {
  const children = model().ofTask.map(({ name, table, asChild }) => {
    const { name: text } = columnsOf(table).find(({ key }) => key === asChild!.text)!
    return sql`union all (
      select ${name}, c.id, greatest(c.event_id, t.event_id), c.created_at, null, null, c.${sql(text)} from ${sql(getTableName(table))} c
      where c.task_id = t.id and c.id > case when t.id = ${task} then ${id}::uuid else ${nilId} end
      order by c.id, c.created_at limit ${rowsAtOnce})`
  })
  return sql`
    select d.*, t.id as task_id, ${projectId}::uuid as project_id
    from (select * from tasks where project_id = ${projectId} and id >= ${task} order by id, number limit ${rowsAtOnce + 1}) t
    cross join lateral (
      select 'task' as kind, t.id, t.event_id, t.created_at as at, t.number, t.title, ${sql.unsafe(taskText)} as text
      ${children.reduce((all, one) => sql`${all} ${one}`)}) d
    where (t.id, d.id) > (${task}::uuid, ${id}::uuid) order by t.id, d.id limit ${rowsAtOnce}`
}
