import { externalIdOf } from '../../../modules/imports/convert/keys.ts'
import { isId, nilId } from '../../../src/id-format.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import type { Run } from '../run/run.ts'

export const maxBlockers = 50

/** The blockers by key: the id of a task, or the reason why the row cannot block a task. */
export type Blockers = ReadonlyMap<string, Blocker>

interface Blocker {
  id?: string
  reason?: 'became a subtask' | 'was rejected'
}

/** Finds blockers in the file, and other blockers in the project. @param lists the keys of the blockers of tasks */
export async function readBlockers({ sql, running }: Run, lists: readonly string[][]): Promise<Blockers> {
  const keys = [...new Set(lists.flat())]
  if (keys.length === 0) return new Map()
  const inFile = await readInFile(sql, running.id, keys)
  const others = keys.filter((key) => !inFile.has(key))
  if (others.length === 0) return inFile
  return new Map([...inFile, ...(await readInProject(sql, running, others))])
}

async function readInFile(sql: Sql, importId: string, keys: string[]): Promise<Map<string, Blocker>> {
  const rows = await sql<{ key: string; kind: string; id: string; outcome: string | null }[]>`
    select distinct on (key) key, kind, id, outcome from import_items
    where import_id = ${importId} and kind in ('task', 'subtask') and key = any(${keys}::text[])
    order by key, kind desc, n`
  return new Map(
    rows.map(({ key, kind, id, outcome }): [string, Blocker] => {
      if (kind === 'subtask') return [key, { reason: 'became a subtask' }]
      return [key, outcome === 'rejected' ? { reason: 'was rejected' } : { id }]
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
  return new Map(rows.map(({ key, id }) => [key, { id }]))
}

/**
 * Divides the blockers of a task. The step `links` sets the blockers in `linked`, except rejected tasks. The blockers
 * in `others` become lines at the foot of the description.
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
