import { taskView } from '../../modules/tasks/schema.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { LogEvent } from './evidence.ts'
import { type Operation, outcomeOf } from './history.ts'
import type { VersionRange } from './state-ranges.ts'

/** The version in the ETag of a list, and the versions at which the list has the returned rows. */
export interface ListObservation {
  operation: Operation
  version: number
  range: VersionRange
}

/** The rows of a list may be newer than the version in its ETag, never older. */
export function locateLists(
  operations: Operation[],
  events: LogEvent[],
): { errors: string[]; observations: ListObservation[] } {
  const reads = operations.filter((read) => read.kind === 'task.list' && outcomeOf(read) === 'done')
  const byProject = Map.groupBy(reads, ({ about }) => about.projectId as string)
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const observations = [...byProject].flatMap(([id, lists]) => locateIn(id, lists, histories.get(id) ?? []))
  const located = new Set(observations.map(({ operation }) => operation))
  const lost = reads.filter((read) => !located.has(read))
  return {
    observations,
    errors: lost.map(
      ({ path, etag }) => `GET ${path} with ETag ${etag} returned rows that no version of the project had`,
    ),
  }
}

function locateIn(projectId: string, reads: Operation[], history: LogEvent[]): ListObservation[] {
  const pending = Map.groupBy(reads, versionOf)
  const tasks = new Map<string, TaskRow>()
  let open: ListObservation[] = []
  const observations: ListObservation[] = []
  const renderer = rendererOf(tasks)
  for (const [at, { seq, entity, entityId, after }] of history.entries()) {
    const isChanged = entity === 'task'
    if (isChanged && after) tasks.set(entityId, after as unknown as TaskRow)
    else if (isChanged) tasks.delete(entityId)
    if (isChanged) renderer.clear()
    for (const operation of pending.get(seq) ?? [])
      open.push({ operation, version: seq, range: { projectId, from: Infinity, before: Infinity } })
    if (!isChanged && !pending.has(seq) && at > 0) continue
    open = open.filter((list) => {
      const isEqual = list.operation.text === renderer.list(list.operation.path)
      if (isEqual) list.range.from = Math.min(list.range.from, seq)
      else if (list.range.from < Infinity) list.range.before = seq
      if (list.range.before < Infinity) observations.push(list)
      return list.range.before === Infinity
    })
  }
  return [...observations, ...open.filter(({ range }) => range.from < Infinity)]
}

const versionOf = ({ etag }: Operation): number => Number(/^"(\d+)-[\w-]+"$/.exec(etag ?? '')?.[1])

function rendererOf(tasks: Map<string, TaskRow>) {
  const rendered = new Map<string, string>()
  const render = (path: string): string => {
    const query = new URL(path, 'http://localhost').searchParams
    const [status, isDescending] = [query.get('status'), query.get('sort') === '-createdAt']
    const rows = [...tasks.values()].filter((task) => !status || task.status === status)
    rows.sort((a, b) => (a.id < b.id !== isDescending ? -1 : 1))
    return digest(JSON.stringify(rows.slice(0, Number(query.get('limit'))).map((row) => taskView.of(row))))
  }
  return {
    clear: () => rendered.clear(),
    list(path: string): string {
      const text = rendered.get(path) ?? render(path)
      rendered.set(path, text)
      return text
    },
  }
}

export const digest = (text: string): string => Bun.hash(text).toString(36)
