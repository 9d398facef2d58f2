import type { ImportOperation } from '../../modules/imports/command.ts'
import { externalIdOf } from '../../modules/imports/convert/keys.ts'
import { Notes } from '../../modules/imports/convert/record.ts'
import type { TaskItem } from '../../modules/imports/items.ts'
import { blockers as knownBlockers } from '../../modules/tasks/blockers.ts'
import { maxIds } from '../../modules/tasks/schema.ts'
import { isId, nilId } from '../../src/id-format.ts'
import { type PreparedRow, runBatches } from './batches.ts'
import type { Run } from './import-row.ts'
import { readStaged, type Staged } from './staged.ts'

/** The ids of tasks by the keys of blockers, or the reason why a row cannot be a blocker. */
export type Blockers = ReadonlyMap<string, { id: string } | string>

const becameSubtask = 'became a subtask'
const isFull = `was left out: a task can have ${maxIds} blockers`

/**
 * Finds the tasks with these keys in the file, and the other tasks in the project: tasks of earlier imports, and tasks
 * of the exported project by id.
 */
export async function readBlockers(run: Run, keys: string[]): Promise<Blockers> {
  const { sql, id: importId, projectId, source } = run
  const wanted = [...new Set(keys)]
  if (wanted.length === 0) return new Map()
  const externalIds = wanted.map((key) => externalIdOf(isId(key) ? 'docket' : source, { key }))
  const ids = wanted.map((key) => (isId(key) ? key : nilId))
  const rows = await sql<{ key: string; kind: string; id: string; outcome: string | null }[]>`
    select q.key, f.* from unnest(${wanted}::text[], ${externalIds}::text[], ${ids}::uuid[]) q(key, external_id, id)
    cross join lateral (
      (select kind, id, outcome from import_items
        where import_id = ${importId} and kind in ('task', 'leaf') and key = q.key order by kind = 'task' desc, n limit 1)
      union all select 'task', id, null from tasks where project_id = ${projectId} and id = q.id
      union all select 'task', id, null from tasks where project_id = ${projectId} and external_id = q.external_id
      limit 1) f`
  return new Map(
    rows.map(({ key, kind, id, outcome }) => {
      if (kind === 'leaf') return [key, becameSubtask]
      return [key, outcome === 'rejected' ? 'was rejected' : { id }]
    }),
  )
}

/**
 * Divides the blockers of a task. The step `links` sets the blockers in `linked`, except rejected tasks. The blockers in
 * `others` become lines at the foot of the description.
 */
export function divideBlockers({ key: own, blockedBy = [] }: TaskItem, blockers: Blockers) {
  const linked: string[] = []
  const others: { key: string; reason: string }[] = []
  for (const key of new Set(blockedBy)) {
    const found = blockers.get(key) ?? 'is not in the file'
    if (found === becameSubtask || !blockers.has(key)) others.push({ key, reason: String(found) })
    else if (key !== own && linked.length >= maxIds) others.push({ key, reason: isFull })
    else linked.push(key)
  }
  return { linked, others }
}

/** Above these limits, only the commit of a batch checks for cycles. */
const max = { edges: 1_000_000, visits: 20_000_000 }

/** The blockers of tasks, to find cycles before the links are committed, so that a dry run finds them too. */
class Links {
  private readonly blockers = new Map<string, Set<string>>()
  private edges = 0
  private visits = 0

  /** Loads the blockers of tasks in the project, and the blockers of these, and so on. */
  async load({ sql, projectId }: Run, ids: string[]): Promise<void> {
    const known = knownBlockers.create()
    await knownBlockers.load(sql, projectId, known, [ids], () => {})
    for (const [id, task] of known) for (const blocker of task?.blockedByIds ?? []) this.add(id, blocker)
  }

  add(id: string, blocker: string): void {
    const known = this.of(id)
    if (known.has(blocker) || this.edges === max.edges) return
    this.edges++
    this.blockers.set(id, new Set(known).add(blocker))
  }

  /** The tasks that block a task directly. */
  of(id: string): ReadonlySet<string> {
    return this.blockers.get(id) ?? new Set()
  }

  /** True if `other` blocks the task, directly or through other tasks. */
  isBlocked(id: string, other: string): boolean {
    const seen = new Set([id])
    for (const one of seen) {
      if (one === other) return true
      if (++this.visits > max.visits) return false
      for (const next of this.of(one)) seen.add(next)
    }
    return false
  }
}

/** Sets the blockers of tasks, and moves the new tasks whose order in the file is not the order of their numbers. */
export async function importLinks(run: Run): Promise<void> {
  const links = new Links()
  const read = (after: number) => readStaged<TaskItem>(run, 'link', after, run.batchRows)
  const prepare = async (rows: Staged[]) => {
    // The first of several tasks with the same key has the links. A sub-item that became a subtask has none.
    const tasks = rows.filter(({ row, task }) => task?.row === row && task.outcome !== 'rejected')
    const keys = tasks.flatMap(({ item: { blockedBy = [], after = '' } }) => [...blockedBy, after])
    const blockers = await readBlockers(run, keys)
    const linked = [...tasks.map(({ task }) => task!), ...blockers.values()]
    const ids = linked.flatMap((one) => (typeof one === 'object' ? one.id : []))
    await links.load(run, ids)
    return tasks.map((task) => prepareLinks(task, blockers, links, run))
  }
  // A dry run commits no links, so it repeats those of earlier pages in memory.
  for (let at = 0; run.dryRun && at < run.cursor.n;) {
    const page = await read(at)
    await prepare(page)
    at = page.at(-1)?.n ?? Number.MAX_SAFE_INTEGER
  }
  await runBatches(run, { read, prepare })
}

function prepareLinks(
  { n, row, key, item, task }: Staged,
  blockers: Blockers,
  links: Links,
  { source, dryRun }: Run,
): PreparedRow {
  const { id, outcome } = task!
  const notes = new Notes()
  const known = links.of(id)
  const blockedByIds = new Set<string>()
  // The step `tasks` has reported the other blockers.
  for (const blocker of divideBlockers(item, blockers).linked) {
    const found = blockers.get(blocker)!
    if (typeof found === 'string') notes.report(`The blocker ${blocker} ${found}`)
    else if (found.id === id) notes.report('The task cannot block itself')
    else if (links.isBlocked(found.id, id))
      notes.report(`The blocker ${blocker} was left out, because the blockers would form a cycle`)
    else if (links.of(id).size >= maxIds && !known.has(found.id))
      notes.report(`The blocker ${blocker} ${isFull}`)
    else {
      links.add(id, found.id)
      blockedByIds.add(found.id)
    }
  }
  const place = dryRun || outcome ? {} : placeOf(item.after, blockers)
  const change = { ...place, ...(blockedByIds.size > 0 && { addBlockedByIds: [...blockedByIds] }) }
  const operation: ImportOperation = { op: 'references', id, ...change }
  const isNew = blockedByIds.difference(known).size > 0
  return {
    ...{ kind: 'link', n, taskN: task!.n, row, notes, rowOutcome: outcome ?? 'created' },
    ...{ externalId: externalIdOf(source, { key, externalId: item.externalId }) },
    subject: 'The blockers were left out',
    ...(dryRun ? { outcome: isNew ? 'updated' : 'unchanged' } : { operation }),
  }
}

/** @param after the key of the task before a new task; '' for the first task */
function placeOf(after: string | undefined, tasks: Blockers): { place?: 'first'; after?: string } {
  const found = tasks.get(after ?? '')
  if (after === '') return { place: 'first' }
  return typeof found === 'object' ? { after: found.id } : {}
}
