import type { StoredEvent } from '../../src/model/events.ts'
import { type Contents, fold, emptyContents } from '../support/fold.ts'
import { type Claims, say } from './check-claims.ts'
import { faultOfDryRun, seqsOf } from './check-undos.ts'
import type { Fact, Row } from './evidence.ts'
import { type Operation, outcomeOf } from './history.ts'
import { Places } from './places.ts'
import { pairFault, isDry, type Undo } from './undoing.ts'
import { type Scene, wholeFaults } from './undone-whole.ts'

/** Each undo took back all that it names as it was then, and nothing else: told by the events alone. */
export function checkUndone(facts: Fact[], makers: Claims['makers']): string[] {
  const places = new Places(facts)
  const histories = Map.groupBy(facts, ({ projectId }) => projectId).values()
  return [...histories].flatMap((history) => faultsIn(history, makers, places))
}

export function faultsOfDryRuns(operations: Operation[], facts: Fact[]): string[] {
  const histories = Map.groupBy(facts, ({ projectId }) => projectId)
  const dry = operations.filter((operation) => isDry(operation) && outcomeOf(operation) === 'done')
  return dry.flatMap((operation) => {
    const fault = faultOfDryRun(operation, histories.get(operation.about.projectId!) ?? [])
    return fault ? `${say(operation)} ${fault}` : []
  })
}

function faultsIn(history: Fact[], makers: Claims['makers'], places: Places): string[] {
  const contents = emptyContents()
  const scene: Scene = { history, hung: new Map(), places }
  const undoneBy = new Map(history.map(({ id, undoes }) => [id, undoes]))
  const faults: string[] = []
  let [made, owed]: [Fact[], string[]] = [[], []]
  for (const [i, fact] of history.entries()) {
    const maker = makers.get(fact.id)
    const isUndo = maker?.kind === 'undo'
    if (fact.undoes != null && !isUndo) faults.push(`event ${fact.seq} takes back what nobody asked for`)
    if (isUndo) {
      if (made.length === 0) owed = tasksOwed(maker, history, contents, fact.seq)
      made.push(fact)
      const target = history[fact.undoes! - 1]
      const wrong = [pairFault(fact, target, scene.hung), companyLost(fact, target, contents, undoneBy, made)]
      if (makers.get(history[i + 1]?.id ?? '') !== maker) {
        wrong.push(...wholeFaults(maker, made, scene, owed))
        made = []
      }
      faults.push(...wrong.filter((text) => text !== undefined).map((text) => `${say(maker)} ${text}`))
    }
    if (fact.type === 'task.deleted') scene.hung.set(fact.seq, childrenOf(contents, fact.entityId))
    fold(contents, fact as unknown as StoredEvent)
  }
  return faults
}

const childrenOf = ({ subtask, comment }: Contents, taskId: string): Row[] =>
  [...subtask.values(), ...comment.values()].filter((row) => row.taskId === taskId) as unknown as Row[]

/** What was added to a task since is not to go with it, when its making is undone. */
function companyLost(
  { type, entityId }: Fact,
  target: Fact | undefined,
  contents: Contents,
  undoneBy: ReadonlyMap<string, number | null>,
  made: Fact[],
): string | undefined {
  if (type !== 'task.deleted') return undefined
  const cameBack = ({ eventId }: Row) => target?.undoes != null && undoneBy.get(eventId) === target.undoes
  // What the same undo brought back was gone when somebody asked for it.
  const isOwn = ({ eventId }: Row) => made.some(({ id }) => id === eventId)
  const others = childrenOf(contents, entityId).filter((row) => !cameBack(row) && !isOwn(row))
  return others.length > 0 ? `took away ${others.map(({ id }) => id).join(', ')} with a task` : undefined
}

/** The tasks that come back to members with an undo that begins at `seq`. */
function tasksOwed(undo: Operation, history: Fact[], { task }: Contents, seq: number): string[] {
  const removals = seqsOf(undo.body as Undo, history.slice(0, seq - 1))
    .flatMap((one) => history[one - 1] ?? [])
    .filter(({ type }) => type === 'member.removed')
  return removals.flatMap((removal) => {
    const { userId } = removal.before!
    const taken = history
      .slice(removal.seq, seq - 1)
      .filter(({ type, before }) => type === 'task.unassigned' && before!.assigneeId === userId)
    return taken.flatMap(({ entityId }) => (task.get(entityId)?.assigneeId === null ? entityId : []))
  })
}
