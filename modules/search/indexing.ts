import { nilId } from '../../src/id-format.ts'
import { model } from '../../src/model/model.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { fillStart, type Row, rowsAtOnce, writeDocuments } from './documents.ts'

/** The most projects and events of one step. A project that is far behind gets the places that others do not need. */
export const maxProjects = 100
const maxEvents = 2_000
/** A new project with more events is filled from its rows, others are indexed from the beginning of the log. */
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

interface Event {
  projectId: string
  seq: number
  eventId: string
  id: string
  isChange: boolean
  /** The event contains the children of a task that was moved to the project: at most as many texts as ten tasks. */
  isMove: boolean
  isDeletedTask: boolean
}

/**
 * Indexes the next events of at most `maxProjects` projects. Any number of processes may index the same events in any
 * order: of each row, the document of the newest event remains, and a cursor only moves forward.
 */
export async function indexEvents(sql: Sql, projects: Progress[]): Promise<void> {
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
  for (const [isMove, left] of Map.groupBy(changes, (event) => event.isMove))
    while (left.length > 0)
      await writeDocuments(sql, await readRows(sql, left.splice(0, isMove ? rowsAtOnce / 10 : rowsAtOnce)))
  const deleted = newestOf(changes.filter((event) => event.isDeletedTask))
  if (deleted.length > 0) await deleteChildren(sql, deleted)
  const last = known.map(({ projectId }) => events.get(projectId)!.at(-1)!)
  if (last.length > 0) await moveCursors(sql, last)
  if (unknown.length > 0) await startFills(sql, unknown)
}

/** Returns the newest event or document of each row. */
const newestOf = <Of extends { id: string; eventId: string }>(all: Of[]): Of[] => [
  ...new Map(all.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)).map((one) => [one.id, one])).values(),
]

/** The names of the texts of each kind of row, and of the list of these rows in the event of a moved task. */
const textNames = () => [
  { kind: 'task', title: 'title', text: 'description', list: '' },
  { kind: 'project', title: 'name', text: 'description', list: '' },
  ...model().ofTask.map(({ name, plural, asChild }) => {
    return { kind: name, title: '', text: asChild!.text as string, list: plural }
  }),
]

/**
 * Returns the events of the cursors and the next events. The keys of `before` are the changed fields. A task that leaves a
 * project keeps its documents until its arrival is indexed.
 */
async function readEvents(sql: Sql, projects: Progress[]): Promise<Event[]> {
  let left = maxEvents
  const sorted = projects.toSorted((a, b) => a.version - a.seq - (b.version - b.seq))
  const ends = sorted.map(({ seq, version }, n) => {
    const count = Math.max(0, Math.min(version - seq, Math.floor(left / (sorted.length - n))))
    left -= count
    return seq + count
  })
  const names = textNames()
  return sql<Event[]>`
    select e.project_id, e.seq::float8 as seq, e.id as event_id, entity_id as id, type = 'task.moved_in' as is_move,
      type = 'task.deleted' as is_deleted_task, entity = any(${names.map(({ kind }) => kind)}::text[]) and type <> 'task.moved_out'
        and (before is null or after is null or type = 'task.moved_in' or before ?| ${names.flatMap(({ title, text }) => [title, text])}::text[]) as is_change
    from unnest(${sorted.map(({ projectId }) => projectId)}::uuid[], ${sorted.map(({ seq }) => seq)}::bigint[], ${ends}::bigint[])
      p(id, first, last)
    cross join lateral (select * from events e where e.project_id = p.id and e.seq between p.first and p.last) e
    order by e.project_id, e.seq`
}

/** Returns the rows after events, and the children of moved tasks. */
async function readRows(sql: Sql, events: Event[]): Promise<Row[]> {
  const names = textNames()
  const rows = await sql<Row[]>`
    with names as (
      select * from unnest(${names.map(({ kind }) => kind)}::text[], ${names.map(({ title }) => title)}::text[],
        ${names.map(({ text }) => text)}::text[], ${names.map(({ list }) => list)}::text[]) n(kind, title, text, list))
    select r.kind, r.id, e.task_id, e.project_id, e.id as event_id, r.after ->> 'createdAt' as at,
      case r.kind when 'task' then (r.after ->> 'number')::int4 end as number,
      r.after ->> nullif(n.title, '') as title, r.after ->> n.text as text
    from unnest(${events.map(({ projectId }) => projectId)}::uuid[], ${events.map(({ seq }) => seq)}::bigint[]) p(id, seq)
    join events e on e.project_id = p.id and e.seq = p.seq
    cross join lateral (
      select e.entity as kind, e.entity_id as id, e.after
      union all select n.kind, (c ->> 'id')::uuid, c from names n cross join lateral jsonb_array_elements(e.after -> n.list) c
        where e.type = 'task.moved_in') r
    join names n on n.kind = r.kind`
  return newestOf(rows)
}

/** Deletes the words of the children of deleted tasks. After this step, every child has a document. */
async function deleteChildren(sql: Sql, events: Event[]): Promise<void> {
  // Waits for fills that have read the children before, so that their documents are found.
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
