import type { Sql } from '../../../src/postgres/database.ts'
import { untilPageFull } from '../../../src/reads/pages.ts'
import { nilId } from '../../../src/id-format.ts'
import type { Position } from './positions.ts'
import {
  kinds,
  maxBytesOfProject,
  noSource,
  type RowOrHead,
  sourceColumns,
  type SourceRow,
  withRows,
} from './rows.ts'

/** The most events of one statement. A project that is far behind gets the places that others do not need. */
const maxEvents = 2_000
const minEventsOfProject = 10

export interface Changes {
  position: Position
  /** The position after the changes. */
  next: Pick<Position, 'seq' | 'eventId' | 'fill'>
  /** False if the project has been deleted. */
  exists: boolean
  /** True if the log has more changes. */
  hasMore: boolean
  rows: SourceRow[]
}

interface Head extends Position {
  version: number
  versionId: string
  exists: boolean
  /** The oldest and the newest of the events that were read. */
  firstSeq: number | null
  firstId: string | null
  lastSeq: number | null
  lastId: string | null
}

/**
 * Reads the next events of projects, and the current rows that these events changed, in one snapshot. A row that a
 * later event changes again is read again with that event.
 */
export async function readChanges(sql: Sql, projectIds: string[], most = maxEvents): Promise<Changes[]> {
  const bytes = maxBytesOfProject(projectIds)
  const rows = await sql<RowOrHead<Head>[]>`
    with found as materialized (
      select p.project_id, p.seq, p.event_id, p.fill, s.version, s.last_event_id, pr.id is not null as exists,
        least(greatest(s.version - p.seq, 0), ${most}::int4)::int4 as missing
      from search_positions p join streams s on s.project_id = p.project_id
      left join projects pr on pr.id = p.project_id
      where p.project_id = any(${projectIds}::uuid[])),
    position as materialized (
      select f.*, greatest(${minEventsOfProject}::int4, max(share) over (order by missing, project_id))::int4 as places from (
        select found.*, (${most}::int4 - coalesce(sum(missing) over before, 0)) / (count(*) over () - count(*) over before) as share
        from found window before as (order by missing, project_id rows between unbounded preceding and 1 preceding)) f),
    event as materialized (
      select p.project_id, p.exists, e.* from position p cross join lateral (
        ${untilPageFull(sql, nextEvents(sql, most), textBytes(sql), bytes)}) e),
    change as materialized (
      select project_id, entity, entity_id as id, task_id, bool_or(moved_in) as moved_in from event
      where is_new and is_change and exists group by 1, 2, 3, 4)
    select ${sourceColumns(sql)}, null::jsonb as head from (${changedRows(sql)}) d
    union all
    select ${noSource(sql)}, jsonb_build_object('projectId', p.project_id, 'seq', p.seq, 'eventId', p.event_id,
      'fill', p.fill, 'exists', p.exists, 'version', p.version, 'versionId', p.last_event_id,
      'firstSeq', e.seqs[1], 'firstId', e.ids[1], 'lastSeq', e.seqs[cardinality(e.seqs)], 'lastId', e.ids[cardinality(e.ids)])
    from position p left join (
      select project_id, array_agg(seq order by seq) as seqs, array_agg(id order by seq) as ids
      from event group by 1) e on e.project_id = p.project_id`
  return withRows(rows, (head) => nextOf(head))
}

const nextEvents = (sql: Sql, most: number) => sql`
  select seq > p.seq as is_new, seq, id, entity, entity_id, task_id, type = 'task.moved_in' as moved_in,
    ${isChange(sql)} as is_change
  from events e where e.project_id = p.project_id and e.seq >= p.seq and e.seq <= p.seq + p.places
  order by seq limit ${most + 1}`

/** Postgres knows these lengths without reading the texts. */
const textBytes = (sql: Sql) => sql`
  case when not is_new or not is_change then 0
    when entity = 'task' then (select octet_length(t.title) + coalesce(octet_length(t.description), 0) from tasks t where t.id = r.entity_id)
    when entity = 'comment' then (select octet_length(c.text) from comments c where c.id = r.entity_id) end`

/** True for the events that change a document. The keys of `before` are the changed fields. */
const isChange = (sql: Sql) => sql`entity in ('task', 'comment', 'subtask', 'project')
  and (before is null or after is null or type = 'task.moved_in' or before ?| '{title,description,text,name}')`

/**
 * One row for each change, for each comment and subtask of a task that moved here, and for each document of its earlier
 * stay whose row was deleted meanwhile.
 */
const changedRows = (sql: Sql) => sql`
  select c.project_id, ${kinds.task}::int4 as kind, c.id, c.id as task_id, t.created_at as at, t.number, t.title,
    t.description as text
  from change c left join tasks t on t.id = c.id and t.project_id = c.project_id where c.entity = 'task'
  union all
  select c.project_id, ${kinds.comment}, c.id, c.task_id, m.created_at, null, m.text, null
  from change c left join lateral (select m.created_at, m.text from comments m join tasks t on t.id = m.task_id
    where m.id = c.id and t.project_id = c.project_id) m on true where c.entity = 'comment'
  union all
  select c.project_id, ${kinds.subtask}, c.id, c.task_id, m.created_at, null, m.title, null
  from change c left join lateral (select m.created_at, m.title from subtasks m join tasks t on t.id = m.task_id
    where m.id = c.id and t.project_id = c.project_id) m on true where c.entity = 'subtask'
  union all
  select t.project_id, ${kinds.comment}, m.id, m.task_id, m.created_at, null, m.text, null
  from change c join tasks t on t.id = c.id and t.project_id = c.project_id join comments m on m.task_id = t.id
  where c.entity = 'task' and c.moved_in and not exists (select from change x where x.project_id = t.project_id and x.id = m.id)
  union all
  select t.project_id, ${kinds.subtask}, m.id, m.task_id, m.created_at, null, m.title, null
  from change c join tasks t on t.id = c.id and t.project_id = c.project_id join subtasks m on m.task_id = t.id
  where c.entity = 'task' and c.moved_in and not exists (select from change x where x.project_id = t.project_id and x.id = m.id)
  union all
  select d.project_id, d.kind::int4, d.id, d.task_id, d.at, null, null, null
  from change c join search d on d.project_id = c.project_id and d.task_id = c.id and d.id <> c.id
  where c.entity = 'task' and c.moved_in and not exists (select from comments m where m.id = d.id)
    and not exists (select from subtasks m where m.id = d.id)
    and not exists (select from change x where x.project_id = d.project_id and x.id = d.id)
  union all
  select c.project_id, ${kinds.project}, c.id, null, p.created_at, null, p.name, p.description
  from change c left join projects p on p.id = c.id where c.entity = 'project'`

function nextOf(head: Head): Omit<Changes, 'rows'> {
  const { projectId, seq, eventId, fill, exists, version } = head
  const position = { projectId, seq, eventId, fill }
  if (isOtherHistory(head)) {
    const next = { seq: version, eventId: head.versionId, fill: { clears: true } as const }
    return { position, next, exists, hasMore: false }
  }
  const next = { seq: head.lastSeq ?? seq, eventId: head.lastId ?? eventId, fill }
  return { position, next, exists, hasMore: next.seq < version }
}

/** After a failover the event at the position may differ. If this event has expired, later events may have expired. */
const isOtherHistory = ({ seq, eventId, version, versionId, firstSeq, firstId }: Head): boolean =>
  (seq !== version || eventId !== versionId) &&
  (seq > version || firstSeq !== seq || (eventId !== nilId && firstId !== eventId))
