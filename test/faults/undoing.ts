import type { Operation } from './history.ts'
import type { Fact, Row } from './evidence.ts'

export interface Undo {
  seq?: number
  batch?: number
  seqs?: number[]
}

export const isDry = ({ kind, path }: Pick<Operation, 'kind' | 'path'>): boolean =>
  kind === 'undo' && path.endsWith('?dryRun=true')

/** What takes an event back; nothing for what nothing takes back. */
export const inverseOf: Record<string, string | undefined> = {
  'project.updated': 'project.updated',
  'member.invited': 'member.removed',
  'member.role_set': 'member.role_set',
  'member.removed': 'member.invited',
  'task.created': 'task.deleted',
  'task.updated': 'task.updated',
  'task.deleted': 'task.created',
  'task.unassigned': 'task.updated',
  'subtask.created': 'subtask.deleted',
  'subtask.updated': 'subtask.updated',
  'subtask.toggled': 'subtask.toggled',
  'subtask.deleted': 'subtask.created',
  'comment.created': 'comment.deleted',
  'comment.updated': 'comment.updated',
  'comment.deleted': 'comment.created',
}

/** What moves on with every change, undos included. */
export const versions = ['eventId', 'updatedAt']

export function same(one: Row | null, other: Row | null, but = ['eventId']): boolean {
  if (!one || !other) return one === other
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every((name) => but.includes(name) || one[name] === other[name])
}

/** What is wrong about an event that takes another one back, in words. */
export function pairFault(
  fact: Fact,
  target: Fact | undefined,
  hung: ReadonlyMap<number, Row[]>,
): string | undefined {
  const about = `event ${fact.seq}, a ${fact.type}, takes back ${fact.undoes}, a ${target?.type},`
  if (!target || target.seq >= fact.seq) return `${about} which was not`
  if (target.type === 'task.deleted' && fact.entityId !== target.entityId) {
    const isFromThere = hung.get(target.seq)?.some((row) => same(fact.after, row))
    return isFromThere && !fact.before ? undefined : `${about} where it did not hang`
  }
  if (fact.entityId !== target.entityId) return `${about} of another thing`
  if (target.type === 'task.deleted' && fact.type === 'task.unassigned') {
    const isRight =
      fact.after?.assigneeId === null && same(fact.before, fact.after, [...versions, 'assigneeId'])
    return isRight ? undefined : `${about} with more than its assignee`
  }
  if (inverseOf[target.type] !== fact.type) return `${about} in the wrong way`
  if (!target.after) return same(fact.after, target.before) ? undefined : `${about} otherwise than it was`
  if (!target.before) {
    const isGone = !fact.after && same(fact.before, target.after, versions)
    return isGone ? undefined : `${about} though it was changed: ${JSON.stringify(fact.before)}`
  }
  return changeFault(fact, target as Changed, about)
}

type Changed = Fact & { before: Row; after: Row }

/** Every field that was changed must still hold what it was given, and gets back what it had; others keep what they have. */
function changeFault({ before, after }: Fact, target: Changed, about: string): string | undefined {
  const names = Object.keys(target.after).filter((name) => !versions.includes(name) && name in (before ?? {}))
  const changed = names.filter((name) => target.before[name] !== target.after[name])
  const lost = changed.filter((name) => before?.[name] !== target.after[name])
  if (lost.length > 0) return `${about} and loses what came since in ${lost.join(', ')}`
  const wrong = names.filter((name) => {
    return after?.[name] !== (changed.includes(name) ? target.before[name] : before?.[name])
  })
  return wrong.length > 0 ? `${about} and leaves another ${wrong.join(', ')}` : undefined
}
