import { beforeEach, expect, test } from 'bun:test'
import { Recent } from '../../src/commit/recent.ts'
import type { StoredEvent } from '../../src/facts/facts.ts'

const [projectId, elsewhere] = ['p', 'q']
let now = 0
let recent: Recent
beforeEach(() => {
  now = 0
  recent = new Recent(
    (id) => id !== 'nobody',
    () => now,
  )
})

const eventAt = (seq: number, type: string, text: string, place: string) =>
  ({ projectId: place, seq, type, entity: type.split('.')[0], before: null, after: { text } }) as StoredEvent

/** Of a commit: the event that it goes on after, and its last one. */
interface About {
  text?: string
  place?: string
  from?: string
  to?: string
}

/** Commits so many events after a version, or those of other types. */
function commit(expected: number, types: number | string[], about: About = {}): void {
  const { text = '', place = projectId, from = '', to = '' } = about
  const all = typeof types === 'number' ? Array<string>(types).fill('comment.created') : types
  const events = all.map((type, n) => eventAt(expected + 1 + n, type, text, place))
  const version = expected + events.length
  const head = { projectId: place, expected, version }
  recent.add({ heads: [{ ...head, expectedEventId: from, lastNumber: 0, lastEventId: to }], events })
}
const seqsAfter = (after: number, upTo = 1_000) =>
  recent.after({ projectId, after, upTo })?.map(({ seq }) => seq)

test('what was committed one after another is known without a gap, from any place in it', () => {
  commit(3, 2)
  commit(5, 1)
  expect([seqsAfter(3), seqsAfter(4), seqsAfter(3, 4)]).toEqual([[4, 5, 6], [5, 6], [4]])
  for (const after of [2, 6, 7]) expect([after, seqsAfter(after)]).toEqual([after, undefined])
  expect([recent.plainSince(projectId, 3), recent.plainSince(projectId, 2)]).toEqual([6, undefined])
})

test('where something happened that this process does not know, all before it is forgotten', () => {
  commit(0, 2)
  commit(3, 1)
  expect([seqsAfter(0), seqsAfter(2), seqsAfter(3)]).toEqual([undefined, undefined, [4]])
  expect([recent.plainSince(projectId, 2), recent.plainSince(projectId, 3)]).toEqual([undefined, 4])
  // Decided anew on what a standby had.
  commit(2, 1)
  expect([seqsAfter(3), seqsAfter(2)]).toEqual([undefined, [3]])
})

test('of a version that a standby did not have nothing is told, though others made one of the same number', () => {
  commit(2, 2, { from: 'b', to: 'lost' })
  commit(4, 1, { from: 'anew', to: 'e' })
  expect([seqsAfter(2), seqsAfter(4), recent.plainSince(projectId, 2)]).toEqual([undefined, [5], undefined])
})

test('what may change rights is not told, nor taken for nothing', () => {
  for (const type of ['member.removed', 'member.role_set', 'project.updated', 'project.deleted']) {
    commit(0, 2)
    commit(2, ['comment.created', type])
    commit(4, 1)
    expect([type, seqsAfter(0), seqsAfter(3), seqsAfter(4)]).toEqual([type, undefined, undefined, [5]])
    expect([type, recent.plainSince(projectId, 3)]).toEqual([type, undefined])
  }
})

test('of two projects in one commit each has its own', () => {
  const heads = [projectId, elsewhere].map((id) => ({ projectId: id, expected: 1, version: 2 }))
  const events = [eventAt(2, 'task.deleted', '', elsewhere), eventAt(2, 'task.created', '', projectId)]
  recent.add({ heads, events } as Parameters<Recent['add']>[0])
  expect(recent.after({ projectId, after: 1, upTo: 9 })).toEqual([events[1]!])
  expect(recent.after({ projectId: elsewhere, after: 1, upTo: 9 })).toEqual([events[0]!])
})

test('after a moment it is looked up again', () => {
  commit(0, 1)
  now = 499
  expect([seqsAfter(0), recent.plainSince(projectId, 0)]).toEqual([[1], 1])
  now = 500
  expect([seqsAfter(0), recent.plainSince(projectId, 0)]).toEqual([undefined, undefined])
})

test('what nobody follows is not kept, and of the rest no more than there is room for', () => {
  commit(0, 1, { place: 'nobody' })
  expect(recent.after({ projectId: 'nobody', after: 0, upTo: 1 })).toBeUndefined()
  commit(0, 400)
  commit(400, 400)
  expect([seqsAfter(299), seqsAfter(300)?.length, seqsAfter(300, 310)?.length]).toEqual([undefined, 132, 10])
  // Long ones: some at a time, and all forgotten once they are too many.
  const text = 'x'.repeat(20_000)
  commit(800, 100, { text })
  expect(seqsAfter(800)).toHaveLength(7)
  for (let n = 0; n < 2; n++) commit(0, 100, { text, place: `other-${n}` })
  expect(seqsAfter(800)).toHaveLength(7)
  commit(0, 100, { text, place: 'one-more' })
  expect(seqsAfter(800)).toBeUndefined()
})
