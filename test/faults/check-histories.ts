import { isUndoDryRun } from './check-undos.ts'
import { type Evidence, eventJson } from './evidence.ts'
import { label, type Operation, outcomeOf } from './history.ts'
import type { Observation } from './task-observations.ts'

const isPage = (read: Operation) => read.kind === 'project.history' && outcomeOf(read) === 'done'

export function checkHistories(operations: Operation[], { events, people }: Evidence): string[] {
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const texts = new Map<string, string>()
  return operations.filter(isPage).flatMap((read) => {
    const history = histories.get(read.about.projectId!) ?? []
    const page = JSON.parse(read.text) as { seq: number; id: string }[]
    const newest = page[0]?.seq ?? 0
    const wrong = page.find((returned, i) => {
      const event = history[newest - i - 1]
      if (event && !texts.has(event.id)) texts.set(event.id, eventJson(event, people))
      return JSON.stringify(returned) !== texts.get(event?.id ?? '')
    })
    return wrong ? `${label(read)} returned ${JSON.stringify(wrong)}` : []
  })
}

/** The newest event of a first page, and the version in a dry run, were the latest at the time of the read. */
export function observationsOfVersions(operations: Operation[]): Observation[] {
  const observe = (read: Operation, from: number): Observation => {
    return { read, range: { projectId: read.about.projectId!, from, before: from + 1 } }
  }
  const dryRuns = operations.filter((operation) => isUndoDryRun(operation) && outcomeOf(operation) === 'done')
  return [
    ...operations
      .filter(isPage)
      .map((read) => observe(read, (JSON.parse(read.text) as { seq: number }[])[0]!.seq)),
    ...dryRuns.map((read) => observe(read, (JSON.parse(read.text) as { version: number }).version)),
  ]
}
