import type { Static } from '@sinclair/typebox'
import { command, inProject } from '../../src/commands/command.ts'
import { rowSources } from '../../src/log/rows-at.ts'
import { type EventDraft, observed } from '../../src/model/events.ts'
import { type Fact, type FactKind, factQuery } from '../../src/model/definition.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { isReady, isUnblocked } from '../tasks/ready.ts'
import { isFree } from './commands.ts'
import { RecordReady } from './schema.ts'

/** The tasks without an open blocker that have had no event `task.ready` since an event ended their last blocker. */
class Unrecorded implements Fact {
  constructor(
    readonly projectId: string,
    readonly ids = new Set<string>(),
  ) {}

  fork(): Unrecorded {
    return new Unrecorded(this.projectId, new Set(this.ids))
  }

  apply({ type, entityId }: EventDraft): void {
    if (type === 'task.ready') this.ids.delete(entityId)
  }
}

const unrecorded: FactKind<Unrecorded, Static<typeof RecordReady>['tasks']> = {
  create: (projectId) => new Unrecorded(projectId),
  async load(sql, fact, wanted) {
    const all = wanted.flat()
    const rows = await sql<{ id: string }[]>`
      select t.id from unnest(${all.map(({ id }) => id)}::uuid[], ${all.map(({ eventId }) => eventId)}::uuid[]) q(id, event_id)
      join tasks t on t.id = q.id
      where t.project_id = ${fact.projectId} and t.status <> 'DONE' and ${isUnblocked(sql, 't')} and not exists (
        select from events e where e.task_id = q.id and e.id > q.event_id and e.type = 'task.ready'
          and e.project_id = ${fact.projectId})`
    for (const { id } of rows) fact.ids.add(id)
    return rows.map(({ id }) => id)
  },
}

/** Records once for each task that it is ready. A task that is not ready any more, or has a live claim, gets no event. */
export const recordReady = command('task.record_ready', {
  input: RecordReady,
  target: inProject(),
  role: null,
  preload: ({ tasks }) => ({ facts: [factQuery(unrecorded, tasks)] }),
  weight: ({ tasks }) => tasks.length,
  decide(state, context, { tasks }) {
    const { ids } = state.fact(unrecorded)
    const found = tasks.flatMap(({ id }) => (ids.has(id) && state.project && state.row('task', id)) || [])
    const ready = found.filter((task) => isFree(state, task, context.now))
    return { changes: ready.map((task) => observed(state, context, 'task.ready', task)), answer: undefined }
  },
  message: 'Ready tasks recorded',
})

/** The events of a project with the seqs `after` + 1 to `upTo`. */
export interface Range {
  projectId: string
  after: number
  upTo: number
}

/**
 * SQL for the events of a range that may make tasks ready. `closes`: the task is DONE, deleted or in another project. `had`: the
 * blockers of the task before the event, if the event changed them.
 */
export const endsOfBlockers = (sql: Sql, { projectId, after, upTo }: Record<keyof Range, SqlPart>) => sql`
  select * from (
    select e.seq, e.id as event_id, e.entity_id as task_id, coalesce(e.before ->> 'status' <> 'DONE'
        and (e.after is null or e.after ->> 'status' = 'DONE'), false) as closes,
      case when jsonb_typeof(e.before -> 'blockedByIds') = 'array' and e.after is not null then e.before -> 'blockedByIds' end as had
    from events e where e.project_id = ${projectId} and e.seq > ${after} and e.seq <= ${upTo} and e.entity = 'task') e
  where e.closes or e.had is not null`

/** SQL for the tasks that a closed task of `ended` blocks. `offset 0` makes Postgres use the index of blockers. */
export const dependentsOf = (sql: Sql) => sql`
  select t.id, t.project_id, t.blocked_by_ids from tasks t
  where t.blocked_by_ids && (select array_agg(task_id) from ended where closes) offset 0`

/**
 * Returns the next tasks, in the order of their ids, whose blockers changed in the range. If a task is ready, `eventId` is the
 * last of these changes before which the task had an open blocker; null if the task never had one in the range.
 */
export function findUnblocked(
  sql: Sql,
  { projectId, after, upTo }: Range,
  { afterId, rows }: { afterId: string; rows: number },
) {
  const range = { projectId: sql`${projectId}`, after: sql`${after}::bigint`, upTo: sql`${upTo}::bigint` }
  const snapshot = { projectId, version: sql`(p.seq - 1)` }
  const wasBlocked = rowSources(sql, 'task', snapshot, sql`p.id`).map(
    (source): SqlPart => sql`exists (select from ${source} t where t.id = p.id and t.project_id = ${projectId}
      and not ${isUnblocked(sql, 't', { snapshot })})`,
  )
  return sql<{ id: string; eventId: string | null }[]>`
    with ended as materialized (${endsOfBlockers(sql, range)}),
    pair as materialized (
      select l.id, c.seq, c.event_id from (
        select t.id, unnest(t.blocked_by_ids) as blocker_id from (${dependentsOf(sql)}) t where t.project_id = ${projectId}
        union all select task_id, b.id::uuid from ended cross join jsonb_array_elements_text(had) b(id)) l
      join ended c on c.closes and c.task_id = l.blocker_id
      union select task_id, seq, event_id from ended where had is not null)
    select p.id, max(p.event_id::text) filter (where exists (
        select from tasks t where t.id = p.id and t.project_id = ${projectId} and ${isReady(sql, 't')})
      and (${wasBlocked.reduce((all, one): SqlPart => sql`${all} or ${one}`)})) as event_id
    from pair p where p.id in (select distinct id from pair where id > ${afterId}::uuid order by id limit ${rows})
    group by p.id order by p.id`
}
