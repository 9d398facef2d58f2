import type { Fact } from './evidence.ts'

/** Each project's events are 1, 2, 3 … and the tasks that came into it, made there or moved, are numbered so. */
export function checkSequence(facts: Fact[]): string[] {
  return [...Map.groupBy(facts, ({ projectId }) => projectId)].flatMap(([projectId, history]) => {
    const seqs = history.map(({ seq }) => seq)
    const numbers = history.filter(isArrival).map(({ after }) => after?.number as number)
    return [
      ...gapsOf(seqs).map((gap) => `project ${projectId}: event ${gap}`),
      ...gapsOf(numbers).map((gap) => `project ${projectId}: task number ${gap}`),
    ]
  })
}

/** A task that moves in may come in several events, of which only the first found nothing; one that comes back has its number. */
const isArrival = ({ type, before, undoes }: Fact) =>
  (type === 'task.created' && undoes == null) || (type === 'task.moved_in' && !before)

/** Where these are not 1, 2, 3 … in this order. */
function gapsOf(numbers: number[]): string[] {
  const gaps: string[] = []
  let expected = 1
  for (const number of numbers) {
    if (number !== expected) gaps.push(`${number} stands where ${expected} belongs`)
    expected = number + 1
  }
  return gaps
}

/** A project that stands is at the version of its last event, and its next task gets the next number. */
export function checkStreams(
  facts: Fact[],
  streams: { projectId: string; version: number; lastNumber: number }[],
): string[] {
  const histories = Map.groupBy(facts, ({ projectId }) => projectId)
  return streams.flatMap(({ projectId, version, lastNumber }) => {
    const history = histories.get(projectId) ?? []
    const last = history.at(-1)?.seq ?? 0
    const number = history.filter(isArrival).at(-1)?.after?.number ?? 0
    return [
      ...(version === last
        ? []
        : [`project ${projectId} is at version ${version}, its last event is ${last}`]),
      ...(lastNumber === number ? [] : [`project ${projectId} gave number ${number} and says ${lastNumber}`]),
    ]
  })
}
