import type { Snapshot } from '../../src/log/as-of.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { isReady } from '../tasks/ready.ts'
import { matchesTask } from '../search/matching-tasks.ts'
import { existing } from './existing.ts'
import { fieldConditions } from './field-conditions.ts'
import type { Filters } from './parameters.ts'

interface Scope {
  caller: string
  snapshot?: Snapshot
}

type Values = Required<Omit<Filters, 'fields' | 'q'>>
type Conditions<Name extends keyof Values> = {
  [N in Name]: (sql: Sql, value: Values[N], scope: Scope) => SqlPart
}

/** Conditions on a task `t` that an index serves: few tasks match. */
const indexed: Conditions<'blocks' | 'claimedBy' | 'externalId' | 'foundIds'> = {
  blocks: (sql, id, { snapshot }) =>
    sql`t.blocked_by_ids @> ${[id]}::uuid[] and ${id}::uuid = any(${existing(sql, 'task', [id], snapshot)})`,
  claimedBy: (sql, userId) => sql`t.claimed_by = ${userId}`,
  externalId: (sql, externalId) => sql`t.external_id = ${externalId}`,
  foundIds: (sql, ids) => sql`t.id = any(${ids}::uuid[])`,
}

/** Conditions on a task `t` that are evaluated for every task of a scan. */
const scanned: Conditions<Exclude<keyof Values, keyof typeof indexed>> = {
  labels: (sql, ids, { snapshot }) => sql`(t.label_ids @> ${ids}::uuid[]
    and cardinality(${existing(sql, 'label', ids, snapshot)}) = ${ids.length})`,
  anyLabel: (sql, ids, { snapshot }) => sql`(t.label_ids && ${ids}::uuid[]
    and t.label_ids && ${existing(sql, 'label', ids, snapshot)})`,
  noLabel: (sql, _, { snapshot }) => sql`(t.label_ids is null
    or not t.label_ids && ${existing(sql, 'label', sql`t.label_ids`, snapshot)})`,
  ready: (sql, _, { caller, snapshot }) => isReady(sql, 't', { holder: caller, snapshot }),
  matching: (sql, matching) => sql`(t.id = any(${matching.knownIds}::uuid[])
    or ${matchesTask(sql, sql`t.id`, matching)})`,
  isUnclaimed: (sql, _, scope) => sql`(t.claimed_by is null or not ${isLive(sql, scope)})`,
}

/** A claim expires with time. In a snapshot, a claim is live until the log contains the event that ends the claim. */
const isLive = (sql: Sql, { snapshot }: Scope) => (snapshot ? sql`true` : sql`t.claimed_until > now()`)

/** Returns conditions in two groups: `indexed` find few tasks by an index, `scanned` check each task. */
export async function conditionsOf(
  sql: Sql,
  filter: Filters & { projectId?: string } & Scope,
  snapshot?: Snapshot,
) {
  const scope = { caller: filter.caller, snapshot }
  const parts = <C extends object>(conditions: C) =>
    Object.entries(conditions).flatMap(([name, part]): SqlPart[] => {
      const value = filter[name as keyof Filters]
      return value === undefined ? [] : [part(sql, value, scope)]
    })
  return {
    indexed: parts(indexed),
    // Outside `indexed`, so that Postgres does not choose the index of the ends of all claims.
    scanned: [
      ...(filter.claimedBy ? [isLive(sql, scope)] : []),
      ...parts(scanned),
      ...(await fieldConditions(sql, filter, snapshot)),
    ],
  }
}

export const and = (sql: Sql, parts: SqlPart[]): SqlPart =>
  parts.reduce((all, one): SqlPart => sql`${all} and ${one}`)

/** SQL that limits projects `p` to the projects of the given labels, and to the project of the task `blocks`. */
export function projectsOf(sql: Sql, { labels, anyLabel, blocks }: Filters): SqlPart {
  const within = [labels, anyLabel].map((ids) =>
    ids ? sql`and p.id = any(array(select project_id from labels where id = any(${ids}::uuid[])))` : sql``,
  )
  const ofBlocker = blocks
    ? sql`and p.id = any(array(select project_id from tasks where id = ${blocks}))`
    : sql``
  return sql`${within[0]!} ${within[1]!} ${ofBlocker}`
}
