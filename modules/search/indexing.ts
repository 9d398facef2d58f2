import { nilId } from '../../src/id-format.ts'
import { model } from '../../src/model/model.ts'
import { searchedFields } from '../tasks/schema.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { fillStart, type Row, writeDocuments } from './documents.ts'

/** The maximum number of projects and events of one step. Each project gets the same number of events. */
export const maxProjects = 100
const maxEvents = 1_000
/**
 * The event of a moved task counts as this number of events: it contains at most 100 children of 200,000 characters.
 */
const eventsOfMove = 20
/**
 * A new project with more events than this number is filled from its rows. Other projects are indexed from the
 * beginning of the log.
 */
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
  // The first event must be that of the cursor. Otherwise the log has expired, or was restored.
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
  const others = searchedFields.map((name) => sql`, case r.kind when 'task' then a.after ->> ${name} end`)
  const text =
    others.length > 0
      ? sql`concat_ws(e'\n', a.after ->> k.text${others.reduce((all, one) => sql`${all}${one}`)})`
      : sql`a.after ->> k.text`
  return sql<Event[]>`
    with kinds as (
      select * from unnest(${['task', 'project', ...children.map(({ name }) => name)]}::text[], ${titles}::text[], ${texts}::text[],
        ${['', '', ...children.map(({ plural }) => plural)]}::text[]) k(kind, title, text, list))
    select e.project_id, e.seq::float8 as seq, e.id as event_id, e.task_id, e.type = 'task.deleted' as is_deleted_task,
      r.kind, r.id, is_change, a.after ->> 'createdAt' as at, case r.kind when 'task' then (a.after ->> 'number')::int4 end as number,
      a.after ->> nullif(k.title, '') as title, ${text} as text
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
