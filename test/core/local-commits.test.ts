import { LocalCommits } from '../../src/reads/versions.ts'

const projectId = 'p'
let commits: LocalCommits
beforeEach(() => (commits = new LocalCommits()))

/** Commits events after the version `expected`. The event at version n has the id `en`. */
function commit(expected: number, ...all: [type: string, entityId: string, undoes?: number][]): void {
  const events = all.map(([type, entityId, undoes]) => {
    const [entity = '', verb] = type.split('.')
    return {
      entity,
      entityId,
      undoes,
      before: verb === 'created' ? null : {},
      after: verb === 'deleted' ? null : {},
    }
  })
  commits.add({ heads: [headFrom(projectId, expected, events.length)], events })
}

const headFrom = (place: string, expected: number, count = 1) => {
  const version = expected + count
  return {
    ...{ projectId: place, expected, expectedEventId: `e${expected}` },
    ...{ version, lastEventId: `e${version}`, lastNumber: 0 },
  }
}

const seenAt = (version: number) => ({ projectId, version, lastEventId: `e${version}`, role: 'VIEWER' })
const advanced = (version: number, id = projectId) => commits.advance(seenAt(version), id)

test('a checked version stays valid after commits that change other rows', () => {
  commit(3, ['task.updated', 'a'], ['task.created', 'c'])
  commit(5, ['comment.created', 'd'])
  for (const from of [3, 5]) expect(advanced(from, 'b')).toEqual(seenAt(6))
  expect(advanced(3)).toEqual(seenAt(6))
  for (const from of [2, 4, 6]) expect(advanced(from, 'b')).toEqual(seenAt(from))
})

test('after a commit that changes, deletes or moves a task, this task is checked again', () => {
  for (const type of ['task.updated', 'task.deleted', 'task.moved_out', 'task.unassigned']) {
    commits = new LocalCommits()
    commit(3, ['task.created', 'c'])
    commit(4, ['comment.created', 'd'], [type, 'a'])
    commit(6, ['task.created', 'e'])
    expect([type, advanced(3, 'a')?.version, advanced(3, 'b')?.version]).toEqual([type, undefined, 7])
  }
})

test('after a commit that may change rights, everything is checked again', () => {
  for (const type of ['project.updated', 'member.invited', 'member.role_set', 'member.removed']) {
    commits = new LocalCommits()
    commit(3, ['task.created', 'a'])
    commit(4, ['task.updated', 'a'], [type, 'm'])
    commit(6, ['task.created', 'c'])
    expect([type, advanced(3)?.version, advanced(6)?.version]).toEqual([type, 4, 7])
  }
})

test('after a commit that deletes or restores a row to which others may refer, everything is checked again', () => {
  for (const [event, isChecked] of [
    [['task.deleted', 'b'], true],
    [['task.created', 'b', 2], true],
    [['task.created', 'b'], false],
    [['task.updated', 'b', 2], false],
    [['comment.deleted', 'b'], false],
    [['field.created', 'b'], true],
    [['field.updated', 'b'], true],
  ] as const) {
    commits = new LocalCommits(
      (entity, isDeletedOrRestored) => entity === 'field' || (isDeletedOrRestored && entity === 'task'),
    )
    commit(3, ['task.created', 'a'])
    commit(4, event as never)
    commit(5, ['task.created', 'c'])
    expect([event, advanced(3, 'a')?.version]).toEqual([event, isChecked ? 4 : 6])
  }
})

test('after a commit to two projects, or by another process, everything is checked again', () => {
  const heads = [headFrom(projectId, 3), headFrom('q', 8)]
  commits.add({ heads, events: [] })
  expect([advanced(3)?.version, advanced(8)?.version]).toEqual([3, 8])
  commit(5, ['task.created', 'a'])
  expect(advanced(4)?.version).toBe(4)
})

test('limits the number of commits in memory', () => {
  for (let version = 1; version <= 150; version++) commit(version, ['task.created', 'a'])
  expect([advanced(1)?.version, advanced(101)?.version]).toEqual([101, 151])
  for (let version = 1_000; version <= 101_000; version++) commit(version, ['comment.created', 'a'])
  expect([advanced(1)?.version, advanced(100_990)?.version]).toEqual([1, 101_001])
  commit(200_000, ...Array.from({ length: 101 }, (_, n): [string, string] => ['task.updated', `t${n}`]))
  expect(advanced(200_000, 'b')?.version).toBe(200_000)
})
