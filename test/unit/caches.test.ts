import { setTimeout as sleep } from 'node:timers/promises'
import { type Sql, upTo } from '../kit.ts'
import { openBodyCache } from '../../src/responses/reply.ts'
import { KnownCommits, nextCommit } from '../../src/reads/versions.ts'
import '../../modules/modules.ts'
import { openPeople } from '../../modules/events/rows.ts'
import { RecentCommits } from '../../src/commit/recent-commits.ts'
import type { StoredEvent } from '../../src/model/events.ts'

/** Opens a cache of responses with `length` characters. Returns the number of bodies that are built for the keys. */
function openReader(length: number) {
  const serve = openBodyCache(10_000)
  return async (keys: string, etagOf = (_: number) => '"1"') => {
    let built = 0
    for (const [n, key] of keys.split(' ').entries())
      await serve(new Request('http://localhost/tasks'), key, etagOf(n), async () => {
        built++
        return { etag: etagOf(n), body: 'x'.repeat(length), link: null }
      })
    return built
  }
}

test('limits the bytes of cached bodies, and evicts the least recently used body first', async () => {
  const built = openReader(1_000)
  expect([await built('a b c d a e'), await built('a c d e'), await built('b')]).toEqual([5, 0, 1])
  const replaced = openReader(1_500)
  await replaced('small')
  expect(await replaced('again '.repeat(99) + 'again', (n) => `"${n}"`)).toBe(100)
  expect(await replaced('small')).toBe(0)
  expect(await openReader(10_000)('large large')).toBe(2)
})

test('the commits in memory that keep cached results valid are limited', () => {
  const commits = new KnownCommits()
  const add = (version: number, rows: string[]) =>
    commits.add({ after: `e${version}`, version: version + 1, lastEventId: `e${version + 1}`, rows })
  const advanced = (version: number) =>
    commits.advance({ projectId: 'p', version, lastEventId: `e${version}` }, 'b')?.version
  for (const version of upTo(150)) add(version, ['t'])
  expect([advanced(1), advanced(101)]).toEqual([101, 151])
  for (let version = 1_000; version <= 101_000; version++) add(version, [])
  expect([advanced(1), advanced(100_990)]).toEqual([1, 101_001])
  const heads = [{ expected: 1, expectedEventId: 'e1', version: 102, lastEventId: 'e102' }]
  const events = upTo(101).map((n) => ({ entity: 'task', entityId: `t${n}`, before: {}, after: {} }))
  expect(nextCommit({ heads, events }, () => false)).toBeUndefined()
})

test('concurrent reads of events show the name of an account whose cached entry expires meanwhile', async () => {
  const gates = upTo(3).map(() => Promise.withResolvers<void>())
  let queries = 0
  const sql = async (_: unknown, ids: string[]) => {
    await gates[queries++]!.promise
    return ids.map((id) => ({ id, name: `Name of ${id}`, email: '' }))
  }
  const find = openPeople(sql as unknown as Sql, { hasChangedSince: () => false })
  const eventsOf = (...ids: string[]) =>
    ids.map((actorId) => ({ actorId, entity: 'task', before: {}, after: {} }) as StoredEvent)
  gates[0]!.resolve()
  await find(eventsOf('ada'))
  await sleep(470)
  const reads = [find(eventsOf('ada', 'bea')), find(eventsOf('ada', 'cy'))]
  await sleep(60)
  for (const { resolve } of gates) resolve()
  const found = await Promise.all(reads)
  expect(found.map((people) => people.get('ada')?.name)).toEqual(['Name of ada', 'Name of ada'])
})

describe('recent events in memory', () => {
  let now: number
  let recent: RecentCommits
  beforeEach(() => {
    now = 1
    const isFollowed = (id: string) => id !== 'nobody'
    recent = new RecentCommits(isFollowed, () => now)
  })

  const idAt = (version: number, projectId = 'p') => `${projectId} ${version}`
  function commit(expected: number, count: number, { text = '', projectId = 'p' } = {}): void {
    const events = upTo(count).map((n) => {
      const event = {
        id: idAt(expected + n, projectId),
        projectId,
        seq: expected + n,
        type: 'comment.created',
      }
      return { ...event, entity: 'comment', before: null, after: { text } } as unknown as StoredEvent
    })
    const version = expected + count
    const expectedEventId = idAt(expected, projectId)
    const head = { projectId, expected, expectedEventId, version, lastNumber: 0 }
    recent.add({ heads: [{ ...head, lastEventId: idAt(version, projectId) }], events })
  }
  const sameRightsSince = (version: number) =>
    recent.sameRightsSince({ version, lastEventId: idAt(version) })?.version
  const after = (after: number, { upTo = 2_000, projectId = 'p' } = {}) =>
    recent.after({ after, afterId: idAt(after, projectId), upTo })?.map(({ seq }) => seq)

  test('returns recent commits without a gap, starting from any of their versions, for half a second', () => {
    commit(3, 2)
    commit(5, 1)
    expect([after(3), after(4), after(3, { upTo: 4 })]).toEqual([[4, 5, 6], [5, 6], [4]])
    for (const version of [2, 6, 7]) expect([version, after(version)]).toEqual([version, undefined])
    expect([3, 4, 6, 2].map(sameRightsSince)).toEqual([6, 6, 6, undefined])
    now = 501
    expect([after(3)?.length, sameRightsSince(3)]).toEqual([3, 6])
    now = 503
    expect([after(3), sameRightsSince(3)]).toEqual([undefined, undefined])
  })

  test('stores no events of projects without subscribers, and limits the bytes', () => {
    commit(0, 1, { projectId: 'nobody' })
    expect(after(0, { projectId: 'nobody' })).toBeUndefined()
    commit(800, 400)
    expect([after(800)?.length, after(800, { upTo: 810 })?.length]).toEqual([132, 10])
    // A read returns only some of the large events. The least recently used events are evicted first.
    const text = 'x'.repeat(20_000)
    commit(1_200, 100, { text })
    for (const projectId of ['other-1', 'other-2']) {
      expect(after(1_200)).toHaveLength(7)
      commit(0, 100, { text, projectId })
    }
    expect(after(1_200)).toHaveLength(7)
    for (const projectId of ['one-more', 'last']) commit(0, 100, { text, projectId })
    const known = ['other-1', 'other-2'].map((projectId) => after(0, { projectId }) !== undefined)
    expect([known, after(1_200)?.length]).toEqual([[false, true], 7])
  })
})
