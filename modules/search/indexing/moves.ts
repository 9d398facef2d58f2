import type { Sql } from '../../../src/postgres/database.ts'
import type { Changes } from './changes.ts'
import type { Position } from './positions.ts'
import { kinds } from './rows.ts'

/** A search does not wait for a project that has more unindexed events. */
const maxEventsBehind = 5_000

/** A task that left the project `from`. `projectId` is its present project. */
interface Move extends Position {
  id: string
  from: string
  /** The unindexed event with which the task arrives, null if the present project has the document. */
  arrivalSeq: number | null
}

export type IsLate = (projectId: string) => boolean

/** The projects to write next. */
export interface MovePlan {
  /** Projects between which tasks moved: one statement writes all of them, or none if a position has changed. */
  together: Changes[]
  others: Changes[]
  /** Projects that must be indexed up to these seqs before projects that tasks left. */
  first: { projectId: string; seq: number }[]
  /** Projects that wait for `first`. */
  held: Set<string>
}

/**
 * Plans the writes so that a search finds a moved task all the time: its old project loses the document only while its
 * new project has or gets it. A late project waits for no other project.
 */
export async function planMoves(sql: Sql, all: Changes[], isLate: IsLate): Promise<MovePlan> {
  const moves = await readMoves(
    sql,
    all.filter(({ position }) => !isLate(position.projectId)),
  )
  const unplanned = { together: [], others: all, first: [], held: new Set<string>() }
  if (moves.length === 0) return unplanned
  const early = findEarly(all, moves)
  const held = new Set(early.map(({ from }) => from))
  const isCircle = early.every(({ from, projectId }) => projectId !== from && held.has(projectId))
  // Projects that wait only for each other would wait forever.
  if (early.length > 0 && isCircle) return unplanned
  const safe = moves.filter(({ from }) => !held.has(from))
  const connected = new Set(safe.flatMap(({ from, projectId }) => [from, projectId]))
  const isConnected = ({ position }: Changes) => connected.has(position.projectId)
  const writable = all.filter(({ position }) => !held.has(position.projectId))
  const written = new Set(writable.map(({ position }) => position.projectId))
  const targets = new Map(
    safe.filter(({ projectId }) => !written.has(projectId)).map((one) => [one.projectId, one]),
  )
  return {
    together: [...writable.filter(isConnected), ...[...targets.values()].map(unchanged)],
    others: writable.filter((one) => !isConnected(one)),
    first: early.map(({ projectId, seq, arrivalSeq }) => ({ projectId, seq: arrivalSeq ?? seq })),
    held,
  }
}

/** Returns the moves of tasks whose present project neither has their documents nor gets them in this step. */
function findEarly(all: Changes[], moves: Move[]): Move[] {
  const nextSeqs = new Map(all.map(({ position, next }) => [position.projectId, next.seq]))
  const arrives = ({ projectId, arrivalSeq }: Move) => (nextSeqs.get(projectId) ?? -1) >= arrivalSeq!
  let early: Move[] = []
  for (let count = -1; count < early.length;) {
    count = early.length
    // A project that waits gets no documents.
    for (const { from } of early) nextSeqs.delete(from)
    early = moves.filter((one) => one.projectId === one.from || (one.arrivalSeq !== null && !arrives(one)))
  }
  return early
}

function unchanged({ projectId, seq, eventId, fill }: Move): Changes {
  const position = { projectId, seq, eventId, fill }
  return { position, next: position, exists: true, hasMore: false, rows: [] }
}

/**
 * Returns the tasks that left a project which still has their documents, and that have or soon get a document elsewhere.
 * If a task has returned to a project, the documents of its earlier stay do not count: they may be incomplete.
 */
async function readMoves(sql: Sql, all: Changes[]): Promise<Move[]> {
  const gone = all.flatMap(({ rows }) => rows.filter((row) => row.title === null && row.kind === kinds.task))
  if (gone.length === 0) return []
  return sql<Move[]>`
    select id, "from", project_id, seq, event_id, fill, arrival_seq from (
      select g.id, g.project_id as from, p.project_id, p.seq::float8 as seq, p.event_id, p.fill,
        exists (select from search d where d.project_id = t.project_id and d.id = g.id) as has_arrived,
        (select max(e.seq) from events e where e.project_id = p.project_id and e.seq > p.seq
          and e.seq <= p.seq + ${maxEventsBehind} and e.entity_id = g.id and e.type = 'task.moved_in')::float8 as arrival_seq
      from unnest(${gone.map(({ id }) => id)}::uuid[], ${gone.map(({ projectId }) => projectId)}::uuid[]) g(id, project_id)
      join tasks t on t.id = g.id
      join search_positions p on p.project_id = t.project_id
      where exists (select from search d where d.project_id = g.project_id and d.id = g.id)) m
    where has_arrived or arrival_seq is not null`
}
