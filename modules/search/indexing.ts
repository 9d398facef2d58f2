import type { FillCursor } from '../../drizzle/schema/search.ts'
import { nilId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { indexRows, type Source } from './documents.ts'

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

interface Event extends Source {
  seq: number
  isChange: boolean
  /** True if the event moves or deletes a task, and so the comments and subtasks of the task too. */
  isOfChildren: boolean
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
  const known = projects.filter(isKnown)
  const changes = known.flatMap(({ projectId, seq }) =>
    events.get(projectId)!.filter((event) => event.seq > seq && event.isChange),
  )
  await indexRows(sql, newestOf(changes))
  // After this step, every comment and subtask has a document, also a comment that was just deleted.
  const ofChildren = changes.filter((event) => event.isOfChildren)
  if (ofChildren.length > 0) await indexRows(sql, newestOf(await readChildren(sql, ofChildren)))
  await moveCursors(
    sql,
    known.map(({ projectId }) => events.get(projectId)!.at(-1)!),
  )
  await startFills(
    sql,
    projects.filter((one) => !known.includes(one)),
  )
}

/** Returns the source with the newest event of each row. */
const newestOf = (sources: Source[]): Source[] => [
  ...new Map(
    sources.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)).map((one) => [one.id, one]),
  ).values(),
]

/** Returns the events of the cursors and the next events. The keys of `before` are the changed fields. */
async function readEvents(sql: Sql, projects: Progress[]): Promise<Event[]> {
  let left = maxEvents
  const sorted = projects.toSorted((a, b) => a.version - a.seq - (b.version - b.seq))
  const ends = sorted.map(({ seq, version }, n) => {
    const count = Math.max(0, Math.min(version - seq, Math.floor(left / (sorted.length - n))))
    left -= count
    return seq + count
  })
  return sql<Event[]>`
    select e.project_id, e.seq::float8 as seq, e.id as event_id, entity as kind, entity_id as id, task_id,
      entity in ('task', 'comment', 'subtask', 'project') and (before is null or after is null or type = 'task.moved_in'
        or before ?| '{title,description,text,name}') as is_change,
      entity = 'task' and (after is null or type = 'task.moved_in') as is_of_children
    from unnest(${sorted.map(({ projectId }) => projectId)}::uuid[], ${sorted.map(({ seq }) => seq)}::bigint[], ${ends}::bigint[])
      p(id, first, last)
    cross join lateral (select * from events e where e.project_id = p.id and e.seq between p.first and p.last) e
    order by e.project_id, e.seq`
}

/** Returns the comments and subtasks of moved and deleted tasks, and the documents of those that no longer exist. */
async function readChildren(sql: Sql, events: Event[]): Promise<Source[]> {
  // Waits for fills that have read the comments and subtasks before, so that their documents are found.
  await sql`select from search_cursors where fill is not null
    and project_id = any(${events.map(({ projectId }) => projectId)}::uuid[]) order by project_id for key share`
  return sql<Source[]>`
    select c.kind, c.id, c.task_id, e.project_id, e.event_id
    from unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ projectId }) => projectId)}::uuid[],
      ${events.map(({ eventId }) => eventId)}::uuid[]) e(task_id, project_id, event_id)
    cross join lateral (
      select 'comment' as kind, id, task_id from comments c where c.task_id = e.task_id
      union all select 'subtask', id, task_id from subtasks s where s.task_id = e.task_id
      union all select kind, id, task_id from search_documents d where d.task_id = e.task_id and d.id <> e.task_id) c`
}

/** All processes lock the cursors in the order of ids. */
const moveCursors = (sql: Sql, to: Event[]) => sql`
  insert into search_cursors as c (project_id, seq, event_id)
  select p.id, p.seq, p.event_id from unnest(${to.map(({ projectId }) => projectId)}::uuid[], ${to.map(({ seq }) => seq)}::bigint[],
    ${to.map(({ eventId }) => eventId)}::uuid[]) p(id, seq, event_id) join projects r on r.id = p.id
  order by p.id for key share of r
  on conflict (project_id) do update set seq = excluded.seq, event_id = excluded.event_id where c.seq < excluded.seq`

/** The beginning of a fill. */
export const noDocuments: FillCursor = { at: new Date(0).toISOString(), id: nilId }

/** The fill reads the rows, and the log has all later changes. Keeps a cursor that another process has moved. */
const startFills = (sql: Sql, projects: Progress[]) => sql`
  insert into search_cursors as c (project_id, seq, event_id, fill)
  select p.id, s.version, s.last_event_id, ${JSON.stringify(noDocuments)}::text::jsonb
  from unnest(${projects.map(({ projectId }) => projectId)}::uuid[], ${projects.map(({ seq }) => seq)}::bigint[]) p(id, seq)
  join streams s on s.project_id = p.id join projects r on r.id = p.id left join search_cursors f on f.project_id = p.id
  where coalesce(f.seq, 0) = p.seq order by p.id for key share of r
  on conflict (project_id) do update set seq = excluded.seq, event_id = excluded.event_id, fill = excluded.fill`
