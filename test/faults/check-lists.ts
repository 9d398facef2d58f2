import { taskView } from '../../modules/tasks/schema.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { Fact } from './evidence.ts'
import { type Operation, outcomeOf } from './history.ts'
import type { Span } from './places.ts'

/** A list that somebody saw: the version it says, and the stretch of versions at which it looks like that. */
export interface SeenList {
  operation: Operation
  version: number
  looks: Span
}

/**
 * Finds for each list read the state that it shows: at the version of its ETag or after it, for rows may be read a
 * moment later than the version, never before.
 */
export function placeLists(operations: Operation[], facts: Fact[]): { faults: string[]; seen: SeenList[] } {
  const reads = operations.filter((read) => read.kind === 'task.list' && outcomeOf(read) === 'done')
  const byProject = Map.groupBy(reads, ({ about }) => about.projectId as string)
  const histories = Map.groupBy(facts, ({ projectId }) => projectId)
  const found = [...byProject].map(([id, lists]) => placeIn(id, lists, histories.get(id) ?? []))
  return { faults: found.flatMap(({ faults }) => faults), seen: found.flatMap(({ seen }) => seen) }
}

function placeIn(projectId: string, reads: Operation[], history: Fact[]) {
  const pending = Map.groupBy(reads, versionOf)
  const tasks = new Map<string, TaskRow>()
  let open: SeenList[] = []
  const seen: SeenList[] = []
  const show = rendererOf(tasks)
  for (const [at, { seq, entity, entityId, after }] of history.entries()) {
    if (entity === 'task' && after) tasks.set(entityId, after as unknown as TaskRow)
    else if (entity === 'task') tasks.delete(entityId)
    const changed = entity === 'task'
    if (changed) show.forget()
    for (const operation of pending.get(seq) ?? [])
      open.push({ operation, version: seq, looks: { projectId, from: Infinity, before: Infinity } })
    if (!changed && !pending.has(seq) && at > 0) continue
    open = open.filter((list) => {
      const isShown = list.operation.text === show.list(list.operation.path)
      if (isShown) list.looks.from = Math.min(list.looks.from, seq)
      else if (list.looks.from < Infinity) list.looks.before = seq
      if (list.looks.before < Infinity) seen.push(list)
      return list.looks.before === Infinity
    })
  }
  seen.push(...open.filter(({ looks }) => looks.from < Infinity))
  const known = new Set(seen.map(({ operation }) => operation))
  const lost = reads.filter((read) => !known.has(read))
  return {
    seen,
    faults: lost.map(({ path, etag }) => `GET ${path} at ${etag} shows what the project never looked like`),
  }
}

export const versionOf = ({ etag }: Operation): number => Number(/^"(\d+)-[\w-]+"$/.exec(etag ?? '')?.[1])

function rendererOf(tasks: Map<string, TaskRow>) {
  const shown = new Map<string, string>()
  const render = (path: string): string => {
    const query = new URL(path, 'http://localhost').searchParams
    const [status, descends] = [query.get('status'), query.get('sort') === '-createdAt']
    const rows = [...tasks.values()].filter((task) => !status || task.status === status)
    rows.sort((a, b) => (a.id < b.id !== descends ? -1 : 1))
    return digest(JSON.stringify(rows.slice(0, Number(query.get('limit'))).map((row) => taskView.of(row))))
  }
  return {
    forget: () => shown.clear(),
    list(path: string): string {
      const text = shown.get(path) ?? render(path)
      shown.set(path, text)
      return text
    },
  }
}

/** Lists are long and many: this is what is kept of one. */
export const digest = (text: string): string => Bun.hash(text).toString(36)
