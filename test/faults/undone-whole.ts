import { seqsOf } from './check-undos.ts'
import type { Fact, Row } from './evidence.ts'
import type { Operation } from './history.ts'
import type { Places } from './places.ts'
import { mayUndo } from './refusals.ts'
import { type Undo, same } from './undoing.ts'

/** A project's events, and what hung on each task when it was deleted, as far as it is told. */
export interface Scene {
  history: Fact[]
  hung: Map<number, Row[]>
  places: Places
}

/** What is wrong about all that an undo made, in words: it names more, or less, or was not for who asked. */
export function wholeFaults(undo: Operation, made: Fact[], scene: Scene, owed: string[]): string[] {
  const { history, hung, places } = scene
  const first = made[0]!
  const before = history.slice(0, first.seq - 1)
  const asked = seqsOf(undo.body as Undo, before).flatMap((seq) => history[seq - 1] ?? [])
  const roles = places.rolesOf(undo.callerId, first.projectId)
  const role = roles.find(({ from, before }) => from < first.seq && before >= first.seq)?.role
  const back = new Set(made.map(({ undoes }) => undoes))
  const taken = asked.filter(({ seq }) => back.has(seq))
  const forbidden = taken.filter((target) => !role || !mayUndo(target, undo.callerId, role))
  const deleted = asked.filter(({ type }) => type === 'task.deleted')
  return [
    ...forbidden.map(({ seq }) => `took ${seq} back for a ${role ?? 'stranger'}`),
    ...leftAlone(asked, back).map(({ seq }) => `left ${seq} as it was`),
    ...unasked(asked, made, history).map(({ undoes }) => `took ${undoes} back, which it does not name`),
    ...owed
      .filter((id) => !made.some(({ entityId }) => entityId === id))
      .map((id) => `did not give task ${id} back`),
    ...deleted.flatMap(({ seq }) => lostWith(seq, made, hung.get(seq) ?? [])),
  ]
}

/** But for what came back with a task that goes again. */
function leftAlone(asked: Fact[], back: Set<number | null>): Fact[] {
  const tasks = asked.filter(({ entity }) => entity === 'task')
  const isCompany = ({ undoes, before, entity, taskId }: Fact) =>
    entity !== 'task' &&
    undoes != null &&
    !before &&
    tasks.some((one) => one.undoes === undoes && one.entityId === taskId)
  return asked.filter((one) => !back.has(one.seq) && !isCompany(one))
}

/** But for the tasks that a member had, who comes back. */
function unasked(asked: Fact[], made: Fact[], history: Fact[]): Fact[] {
  const names = new Set(asked.map(({ seq }) => seq))
  const users = asked.flatMap(({ type, before }) => (type === 'member.removed' ? before!.userId : []))
  return made.filter(({ undoes }) => {
    const target = history[undoes! - 1]
    const isTheirs = target?.type === 'task.unassigned' && users.includes(target.before!.assigneeId)
    return !names.has(undoes!) && !isTheirs
  })
}

function lostWith(seq: number, made: Fact[], hung: Row[]): string[] {
  const cameBack = made.filter(({ undoes, entity, after }) => undoes === seq && entity !== 'task' && after)
  const lost = hung.filter((row) => !cameBack.some(({ after }) => same(after, row)))
  const isMore = cameBack.length > hung.length
  return [
    ...lost.map(({ id }) => `lost ${id}, which hung on a task`),
    ...(isMore ? [`brought more than hung on a task`] : []),
  ]
}
