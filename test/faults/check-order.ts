import { Bounds } from './timeline.ts'
import { type Claims, say } from './check-claims.ts'
import type { SeenList } from './check-lists.ts'
import type { Fact } from './evidence.ts'
import { type Operation, outcomeOf } from './history.ts'
import { common, Places, type Span } from './places.ts'
import { excusesOf, excusesOfUndo } from './refusals.ts'
import { observationsOfVersions } from './check-histories.ts'
import { chain, observationsOfLists, observationsOfTasks } from './observations.ts'

interface Known {
  facts: Fact[]
  operations: Operation[]
  makers: Claims['makers']
  lists: SeenList[]
}

const always = { from: 0, before: Infinity }

/** True when what stood over these versions may have stood at some moment of this request. */
type Fits = (span: Span, operation: Operation) => boolean

/**
 * Is each project's history linearizable? Its order is that of the events; every write must fall between its
 * start and its answer, and every read, refusals too, must show a state that stood between its start and its end.
 */
export function checkOrder({ facts, operations, makers, lists }: Known): string[] {
  const bounds = new Bounds()
  for (const { id, projectId, seq } of facts) {
    const maker = makers.get(id)
    if (maker) bounds.made(projectId, seq, maker)
  }
  const links = chain(facts)
  const { faults, observations } = observationsOfTasks(operations, links)
  const versions = observationsOfVersions(operations)
  const seen = [...observations, ...versions, ...observationsOfLists(lists)]
  for (const { read, span } of seen) bounds.seen(span, read)
  const timelines = bounds.timelines()
  const fits: Fits = ({ projectId, from, before }, { start, end }) =>
    timelines.get(projectId)?.fits(from, before, start, end) ?? true

  const places = new Places(facts)
  // The rows of a list may be a moment newer than the version at which its reader was let in.
  const shown = [
    ...observations,
    ...versions,
    ...observationsOfLists(lists).map(({ read, span }) => ({ read, span: { ...span, ...always } })),
  ]
  const strange = shown.filter(({ read, span }) => !mayBeThere(read, span, places, fits))
  const histories = Map.groupBy(facts, ({ projectId }) => projectId)
  const excuses = (operation: Operation) =>
    operation.kind === 'undo' && operation.status !== 404
      ? excusesOfUndo(operation, places, histories.get(operation.about.projectId!) ?? [])
      : excusesOf(operation, places, links)
  const isExcused = (operation: Operation) => excuses(operation).some((span) => fits(span, operation))
  const unexcused = operations.filter(
    (operation) => outcomeOf(operation) === 'refused' && !isExcused(operation),
  )
  return [
    ...[...timelines.values()].flatMap((timeline) => timeline.faults),
    ...faults,
    ...strange.map(({ read }) => `${say(read)} was shown to ${read.callerId}, a stranger`),
    ...unexcused.map((operation) => `${say(operation)} was refused: ${operation.text}`),
  ]
}

/** Whether the reader may have been in the project at some moment of the read, while things stood as it shows them. */
const mayBeThere = (read: Operation, shown: Span, places: Places, fits: Fits): boolean =>
  places.rolesOf(read.callerId, shown.projectId).some((span) => {
    const both = span.role && common(span, shown)
    return both && fits(both, read)
  })
