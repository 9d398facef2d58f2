import '../../modules/modules.ts'
import { RecentCommits } from '../../src/commit/recent-commits.ts'
import type { StoredEvent } from '../../src/model/events.ts'

const [projectId, elsewhere] = ['p', 'q']
let now = 1
let recent: RecentCommits
beforeEach(() => {
  now = 1
  recent = new RecentCommits(
    (id) => id !== 'nobody',
    () => now,
  )
})

const eventAt = (seq: number, type: string, text: string, place: string, id = `e${seq}`) =>
  ({
    id,
    projectId: place,
    seq,
    type,
    entity: type.split('.')[0],
    before: null,
    after: { text },
  }) as StoredEvent

/** `by` is the prefix of the event ids, and `after` the prefix of the previous event's id. */
interface About {
  text?: string
  place?: string
  by?: string
  after?: string
}

function commit(expected: number, types: number | string[], about: About = {}): void {
  const { text = '', place = projectId, by = 'e', after = 'e' } = about
  const all = typeof types === 'number' ? Array<string>(types).fill('comment.created') : types
  const events = all.map((type, n) => {
    const seq = expected + 1 + n
    return eventAt(seq, type, text, place, by + seq)
  })
  const version = expected + events.length
  const made = { version, lastNumber: 0, lastEventId: events.at(-1)!.id }
  const head = { projectId: place, expected, expectedEventId: after + expected, ...made }
  recent.add({ heads: [head], events })
}
const plainSince = (version: number, by = 'e') =>
  recent.sameRightsSince(projectId, { version, lastEventId: by + version })?.version
const seqsAfter = (after: number, upTo = 1_000) =>
  recent.after({ projectId, after, upTo })?.map(({ seq }) => seq)

test('returns recent commits without a gap, starting from any of their versions', () => {
  commit(3, 2)
  commit(5, 1)
  expect([seqsAfter(3), seqsAfter(4), seqsAfter(3, 4)]).toEqual([[4, 5, 6], [5, 6], [4]])
  for (const after of [2, 6, 7]) expect([after, seqsAfter(after)]).toEqual([after, undefined])
  expect([plainSince(3), plainSince(2)]).toEqual([6, undefined])
})

test('forgets earlier events when another process has committed in between', () => {
  commit(0, 2)
  commit(3, 1)
  expect([seqsAfter(0), seqsAfter(2), seqsAfter(3)]).toEqual([undefined, undefined, [4]])
  expect([plainSince(2), plainSince(3)]).toEqual([undefined, 4])
  // After a failover, the command is decided again on version 2.
  commit(2, 1)
  expect([seqsAfter(3), seqsAfter(2)]).toEqual([undefined, [3]])
})

test('returns no events to a reader whose last event was lost in a failover, although a new event has the same version', () => {
  commit(2, 2, { by: 'lost' })
  commit(4, 1, { by: 'anew', after: 'anew' })
  expect([seqsAfter(2), seqsAfter(4), plainSince(2)]).toEqual([undefined, [5], undefined])
  commit(3, 3, { by: 'anew' })
  expect(seqsAfter(3)).toEqual([4, 5, 6])
  const after = (by: string) => recent.after({ projectId, after: 4, afterId: `${by}4`, upTo: 9 })?.length
  expect([after('lost'), after('anew')]).toEqual([undefined, 2])
  for (const seq of [4, 5, 6])
    expect([plainSince(seq, 'lost'), plainSince(seq, 'anew')]).toEqual([undefined, 6])
  expect([plainSince(3, 'lost'), plainSince(3)]).toEqual([undefined, 6])
})

test('stores no events that may change rights', () => {
  for (const type of ['member.removed', 'member.role_set', 'project.updated', 'project.deleted']) {
    commit(0, 2)
    commit(2, ['comment.created', type])
    commit(4, 1)
    expect([type, seqsAfter(0), seqsAfter(3), seqsAfter(4)]).toEqual([type, undefined, undefined, [5]])
    expect([type, plainSince(3)]).toEqual([type, undefined])
  }
})

test('stores the events of a commit to two projects separately for each project', () => {
  const heads = [projectId, elsewhere].map((id) => ({ projectId: id, expected: 1, version: 2 }))
  const events = [eventAt(2, 'task.deleted', '', elsewhere), eventAt(2, 'task.created', '', projectId)]
  recent.add({ heads, events } as Parameters<RecentCommits['add']>[0])
  expect(recent.after({ projectId, after: 1, upTo: 9 })).toEqual([events[1]!])
  expect(recent.after({ projectId: elsewhere, after: 1, upTo: 9 })).toEqual([events[0]!])
})

test('removes events after half a second', () => {
  commit(0, 1)
  now = 500
  expect([seqsAfter(0), plainSince(0)]).toEqual([[1], 1])
  now = 502
  expect([seqsAfter(0), plainSince(0)]).toEqual([undefined, undefined])
})

test('stores no events of projects without subscribers, and limits events and bytes', () => {
  commit(0, 1, { place: 'nobody' })
  expect(recent.after({ projectId: 'nobody', after: 0, upTo: 1 })).toBeUndefined()
  commit(0, 400)
  commit(400, 400)
  expect([seqsAfter(299), seqsAfter(300)?.length, seqsAfter(300, 310)?.length]).toEqual([undefined, 132, 10])
  // A read returns only some of the large events. The least recently used project is evicted first.
  const text = 'x'.repeat(20_000)
  commit(800, 100, { text })
  expect(seqsAfter(800)).toHaveLength(7)
  for (let n = 0; n < 2; n++) commit(0, 100, { text, place: `other-${n}` })
  expect(seqsAfter(800)).toHaveLength(7)
  commit(0, 100, { text, place: 'one-more' })
  const known = ['other-0', 'other-1'].map(
    (id) => recent.after({ projectId: id, after: 0, upTo: 9 }) !== undefined,
  )
  expect([known, seqsAfter(800)?.length]).toEqual([[false, true], 7])
})
