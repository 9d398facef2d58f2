import { evolve, type ProjectState } from '../../src/actor/state.ts'
import type { Known } from '../../src/commands/command.ts'
import type { Change } from '../../src/facts/facts.ts'
import { Overtaken } from '../../src/undo/overtaken.ts'
import { conflict, Refusal } from '../../src/wire/refusals.ts'
import { comeBack } from './come-back.ts'
import { inverses } from './inverses.ts'
import { invert, type Undoing } from './invert.ts'
import { strangersTasks } from './strangers.ts'

export const notAtOnce = () =>
  conflict('Who is removed does not come back as another member in one undo: undo one, and then the other')

/** Decides what takes events back, the latest first, each on what those before it leave. Pure. @throws Refusal */
export function takeBack(state: ProjectState, known: Known, past: Undoing['past']): Change[] {
  const { events } = past
  const trial = state.fork()
  const undoing = { trial, known, past }
  const { caller } = known
  const asking = { caller, role: state.roleOf(caller.userId) }
  const changes: Change[] = []
  const put = (seq: number, change: Change) => {
    evolve(trial, change)
    changes.push({ ...change, undoes: seq })
  }
  const inTurn = <R>(work: (event: (typeof events)[number]) => R): R[] =>
    events.map((event) => saying(event.seq, events.length, () => work(event)))
  const ways = inTurn((event) => {
    const inverse = inverses[event.type]
    if (typeof inverse === 'function') throw inverse()
    inverse.admit(asking, event)
    return [event.seq, inverse.by] as const
  })
  const by = new Map(ways)
  inTurn((event) => {
    const { seq } = event
    if (event.after) put(seq, invert(by.get(seq)!, event, undoing))
    else for (const [of, change] of comeBack(by.get(seq)!, event, undoing)) put(of, change)
  })
  requireNotBack(changes)
  for (const [of, change] of strangersTasks(changes, undoing)) put(of, change)
  return changes
}

/** Of several events, a refusal says for which it is. */
function saying<R>(seq: number, events: number, work: () => R): R {
  try {
    return work()
  } catch (error) {
    if (events === 1 || !(error instanceof Refusal) || error instanceof Overtaken) throw error
    throw new Refusal(error.status, `Seq ${seq}: ${error.message}`)
  }
}

/** One statement writes new members before the old ones are out of it. @throws Refusal 409 */
function requireNotBack(changes: Change[]): void {
  const gone = new Map<string, string>()
  for (const change of changes) {
    if (change.entity !== 'member') continue
    const { before, after, entityId } = change as Change<'member'>
    if (!after) gone.set(before!.userId!, entityId)
    else if (!before && (gone.get(after.userId) ?? entityId) !== entityId) throw notAtOnce()
  }
}
