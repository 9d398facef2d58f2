import { openBodyCache } from '../../src/responses/reply.ts'
import { KnownCommits, nextCommit } from '../../src/reads/versions.ts'
import '../../modules/modules.ts'
import { RecentCommits } from '../../src/commit/recent-commits.ts'
import type { StoredEvent } from '../../src/model/events.ts'

/** Opens a cached read whose bodies have `length` characters, and counts the bodies that are built. */
function reader(limitBytes: number, length = 1) {
  const serve = openBodyCache(limitBytes)
  let built = 0
  const read = (key: string, etag: string, headers = {}) =>
    serve(new Request('http://localhost/tasks', { headers }), key, etag, async () => {
      built++
      return { etag, body: etag.repeat(length / etag.length + 1), link: null }
    })
  return { read, built: () => built }
}

test('limits the bytes of cached bodies, and evicts the least recently used body first', async () => {
  const { read, built } = reader(10_000, 1_000)
  for (const key of ['a', 'b', 'c', 'd', 'a', 'e']) await read(key, '"1"')
  expect(built()).toBe(5)
  for (const key of ['a', 'c', 'd', 'e']) await read(key, '"1"')
  expect(built()).toBe(5)
  await read('b', '"1"')
  expect(built()).toBe(6)
})

test('counts only the newer body after a replacement, and does not cache a body that is too large', async () => {
  const { read, built } = reader(10_000, 1_500)
  await read('small', '"1"')
  for (let version = 0; version < 100; version++) await read('again', `"${version}"`)
  await read('small', '"1"')
  expect(built()).toBe(101)
  const large = reader(10_000, 10_000)
  for (let i = 0; i < 2; i++) await large.read('large', '"1"')
  expect(large.built()).toBe(2)
})

test('the commits in memory that keep cached results valid are limited', () => {
  const projectId = 'p'
  const commits = new KnownCommits()
  const commit = (expected: number, type: string, rows = ['a']) => {
    const [entity = '', verb] = type.split('.')
    const before = verb === 'created' ? null : {}
    const version = expected + rows.length
    const head = { expected, expectedEventId: `e${expected}`, version, lastEventId: `e${version}` }
    const events = rows.map((entityId) => ({ entity, entityId, before, after: {} }))
    const next = nextCommit({ heads: [head], events }, () => false)
    if (next) commits.add(next)
  }
  const advanced = (version: number) =>
    commits.advance({ projectId, version, lastEventId: `e${version}` }, 'b')?.version
  for (let version = 1; version <= 150; version++) commit(version, 'task.created')
  expect([advanced(1), advanced(101)]).toEqual([101, 151])
  for (let version = 1_000; version <= 101_000; version++) commit(version, 'comment.created')
  expect([advanced(1), advanced(100_990)]).toEqual([1, 101_001])
  const many = Array.from({ length: 101 }, (_, n) => `t${n}`)
  commit(200_000, 'task.updated', many)
  expect(advanced(200_000)).toBe(200_000)
})

const followed = 'p'
let now = 1
let recent: RecentCommits

/** `by` is the prefix of the event ids, and `after` the prefix of the previous event's id. */
interface About {
  text?: string
  place?: string
  by?: string
  after?: string
}

function commitSeqs(expected: number, count: number, about: About = {}): void {
  const { text = '', place = followed, by = 'e', after = 'e' } = about
  const events = Array.from({ length: count }, (_, n) => {
    const seq = expected + 1 + n
    const event = { id: by + seq, projectId: place, seq, type: 'comment.created', entity: 'comment' }
    return { ...event, before: null, after: { text } } as unknown as StoredEvent
  })
  const version = expected + events.length
  const made = { version, lastNumber: 0, lastEventId: events.at(-1)!.id }
  const head = { projectId: place, expected, expectedEventId: after + expected, ...made }
  recent.add({ heads: [head], events })
}
const plainSince = (version: number, by = 'e') =>
  recent.sameRightsSince(followed, { version, lastEventId: by + version })?.version
const seqsAfter = (after: number, upTo = 1_000) =>
  recent.after({ projectId: followed, after, upTo })?.map(({ seq }) => seq)

describe('Recent events in memory', () => {
  beforeEach(() => {
    now = 1
    recent = new RecentCommits(
      (id) => id !== 'nobody',
      () => now,
    )
  })

  test('returns recent commits without a gap, starting from any of their versions', () => {
    commitSeqs(3, 2)
    commitSeqs(5, 1)
    expect([seqsAfter(3), seqsAfter(4), seqsAfter(3, 4)]).toEqual([[4, 5, 6], [5, 6], [4]])
    for (const after of [2, 6, 7]) expect([after, seqsAfter(after)]).toEqual([after, undefined])
    expect([plainSince(3), plainSince(2)]).toEqual([6, undefined])
  })

  test('returns no events to a reader whose last event was lost in a failover, although a new event has the same version', () => {
    commitSeqs(2, 2, { by: 'lost' })
    commitSeqs(4, 1, { by: 'anew', after: 'anew' })
    expect([seqsAfter(2), seqsAfter(4), plainSince(2)]).toEqual([undefined, [5], undefined])
    commitSeqs(3, 3, { by: 'anew' })
    expect(seqsAfter(3)).toEqual([4, 5, 6])
    const after = (by: string) =>
      recent.after({ projectId: followed, after: 4, afterId: `${by}4`, upTo: 9 })?.length
    expect([after('lost'), after('anew')]).toEqual([undefined, 2])
    for (const seq of [4, 5, 6])
      expect([plainSince(seq, 'lost'), plainSince(seq, 'anew')]).toEqual([undefined, 6])
    expect([plainSince(3, 'lost'), plainSince(3)]).toEqual([undefined, 6])
  })

  test('removes events after half a second', () => {
    commitSeqs(0, 1)
    now = 500
    expect([seqsAfter(0), plainSince(0)]).toEqual([[1], 1])
    now = 502
    expect([seqsAfter(0), plainSince(0)]).toEqual([undefined, undefined])
  })

  test('stores no events of projects without subscribers, and limits events and bytes', () => {
    commitSeqs(0, 1, { place: 'nobody' })
    expect(recent.after({ projectId: 'nobody', after: 0, upTo: 1 })).toBeUndefined()
    commitSeqs(0, 400)
    commitSeqs(400, 400)
    expect([seqsAfter(299), seqsAfter(300)?.length, seqsAfter(300, 310)?.length]).toEqual([
      undefined,
      132,
      10,
    ])
    // A read returns only some of the large events. The least recently used project is evicted first.
    const text = 'x'.repeat(20_000)
    commitSeqs(800, 100, { text })
    expect(seqsAfter(800)).toHaveLength(7)
    for (let n = 0; n < 2; n++) commitSeqs(0, 100, { text, place: `other-${n}` })
    expect(seqsAfter(800)).toHaveLength(7)
    commitSeqs(0, 100, { text, place: 'one-more' })
    const known = ['other-0', 'other-1'].map(
      (id) => recent.after({ projectId: id, after: 0, upTo: 9 }) !== undefined,
    )
    expect([known, seqsAfter(800)?.length]).toEqual([[false, true], 7])
  })
})
