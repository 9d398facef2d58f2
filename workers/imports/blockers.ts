import { externalIdOf } from '../../modules/imports/convert/keys.ts'
import { isId, nilId } from '../../src/id-format.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Run } from './import-row.ts'

const maxBlockers = 50

/** The blockers by key: the id of a task, or the reason why the row cannot block a task. */
export type Blockers = ReadonlyMap<string, Blocker>

interface Blocker {
  id?: string
  /** False if a dry run would create the task. */
  exists?: boolean
  reason?: 'became a subtask' | 'was rejected'
}

/** Finds blockers in the file, and other blockers in the project. @param lists the keys of the blockers of tasks */
export async function readBlockers({ sql, running }: Run, lists: readonly string[][]): Promise<Blockers> {
  const keys = [...new Set(lists.flat())]
  if (keys.length === 0) return new Map()
  const inFile = await readInFile(sql, running, keys)
  const others = keys.filter((key) => !inFile.has(key))
  if (others.length === 0) return inFile
  return new Map([...inFile, ...(await readInProject(sql, running, others))])
}

async function readInFile(
  sql: Sql,
  { id: importId, dryRun }: Run['running'],
  keys: string[],
): Promise<Map<string, Blocker>> {
  const rows = await sql<{ key: string; kind: string; id: string; outcome: string | null }[]>`
    select distinct on (key) key, kind, id, outcome from import_items
    where import_id = ${importId} and kind in ('task', 'leaf', 'subtask') and key = any(${keys}::text[])
    order by key, kind = 'task' desc, n`
  return new Map(
    rows.map(({ key, kind, id, outcome }): [string, Blocker] => {
      if (kind !== 'task') return [key, { reason: 'became a subtask' }]
      return [
        key,
        outcome === 'rejected' ? { reason: 'was rejected' } : { id, exists: !dryRun || outcome !== null },
      ]
    }),
  )
}

/** Finds tasks of earlier imports, and tasks of the exported project, by their ids. */
async function readInProject(
  sql: Sql,
  { projectId, source }: Run['running'],
  keys: string[],
): Promise<Map<string, Blocker>> {
  const externalIds = keys.map((key) => externalIdOf(isId(key) ? 'docket' : source, { key }))
  const ids = keys.map((key) => (isId(key) ? key : nilId))
  const rows = await sql<{ key: string; id: string }[]>`
    select q.key, t.id from unnest(${keys}::text[], ${externalIds}::text[], ${ids}::uuid[]) q(key, external_id, id)
    cross join lateral (
      select id from tasks where project_id = ${projectId} and id = q.id
      union all select id from tasks where project_id = ${projectId} and external_id = q.external_id
      limit 1) t`
  return new Map(rows.map(({ key, id }) => [key, { id, exists: true }]))
}

/**
 * Divides the blockers of a task. The step `references` sets the blockers in `linked`, except rejected tasks. The
 * blockers in `others` become lines at the foot of the description.
 */
export function divideBlockers(key: string, keys: readonly string[], blockers: Blockers) {
  const linked: string[] = []
  const others: { key: string; reason: string }[] = []
  for (const blocker of new Set(keys)) {
    const found = blockers.get(blocker)
    if (!found) others.push({ key: blocker, reason: 'is not in the file' })
    else if (found.reason === 'became a subtask') others.push({ key: blocker, reason: found.reason })
    else if (blocker === key || linked.length < maxBlockers) linked.push(blocker)
    else others.push({ key: blocker, reason: `was left out: a task can have ${maxBlockers} blockers` })
  }
  return { linked, others }
}

/** Above these limits, only the commit of a batch checks for cycles. */
const max = { edges: 1_000_000, visits: 20_000_000 }

/** Finds cycles before the links are committed, so that a dry run finds them too. */
export class Links {
  private readonly blockers = new Map<string, Set<string>>()
  private edges = 0
  private visits = 0

  /** Loads the blockers of tasks in the project, and the blockers of these, and so on. */
  async load(sql: Sql, projectId: string, ids: string[]): Promise<void> {
    if (ids.length === 0) return
    const rows = await sql<{ id: string; blockedByIds: string[] }[]>`
      with recursive b(id) as (
        select unnest(${ids}::uuid[])
        union select unnest(t.blocked_by_ids) from b cross join lateral (
          select blocked_by_ids from tasks where id = b.id and project_id = ${projectId} offset 0) t)
      select b.id, t.blocked_by_ids from (select id from b limit 5000) b
      join tasks t on t.id = b.id and t.project_id = ${projectId} where cardinality(t.blocked_by_ids) > 0`
    for (const { id, blockedByIds } of rows) for (const blocker of blockedByIds) this.add(id, blocker)
  }

  /** Returns false if the link would form a cycle. */
  link(id: string, blocker: string): boolean {
    if (this.isBlocked(blocker, id)) return false
    this.add(id, blocker)
    return true
  }

  private add(id: string, blocker: string): void {
    const known = this.blockers.get(id) ?? new Set()
    if (known.has(blocker) || this.edges === max.edges) return
    this.edges++
    this.blockers.set(id, known.add(blocker))
  }

  /** True if `other` blocks the task, directly or through other tasks. */
  private isBlocked(id: string, other: string): boolean {
    const seen = new Set([id])
    for (const one of seen) {
      if (one === other) return true
      if (++this.visits > max.visits) return false
      for (const next of this.blockers.get(one) ?? []) seen.add(next)
    }
    return false
  }
}
