import { say } from './check-claims.ts'
import { type Evidence, shownFact } from './evidence.ts'
import { type Operation, outcomeOf } from './history.ts'
import type { Observation } from './observations.ts'
import { isDry } from './undoing.ts'

const isPage = (read: Operation) => read.kind === 'project.history' && outcomeOf(read) === 'done'

/** The newest pages of histories show the events as they stand, without a hole. */
export function checkHistories(operations: Operation[], { facts, people }: Evidence): string[] {
  const histories = Map.groupBy(facts, ({ projectId }) => projectId)
  const texts = new Map<string, string>()
  return operations.filter(isPage).flatMap((read) => {
    const history = histories.get(read.about.projectId!) ?? []
    const shown = JSON.parse(read.text) as { seq: number; id: string }[]
    const newest = shown[0]?.seq ?? 0
    const wrong = shown.find((event, i) => {
      const fact = history[newest - i - 1]
      if (fact && !texts.has(fact.id)) texts.set(fact.id, shownFact(fact, people))
      return JSON.stringify(event) !== texts.get(fact?.id ?? '')
    })
    return wrong ? `${say(read)} shows ${JSON.stringify(wrong)}` : []
  })
}

/** A version that was the latest: so says the first event of a newest page, and so does a dry run. */
export function observationsOfVersions(operations: Operation[]): Observation[] {
  const dry = operations.filter((operation) => isDry(operation) && outcomeOf(operation) === 'done')
  const seen = (read: Operation, from: number): Observation => {
    return { read, span: { projectId: read.about.projectId!, from, before: from + 1 } }
  }
  return [
    ...operations
      .filter(isPage)
      .map((read) => seen(read, (JSON.parse(read.text) as { seq: number }[])[0]!.seq)),
    ...dry.map((read) => seen(read, (JSON.parse(read.text) as { version: number }).version)),
  ]
}
