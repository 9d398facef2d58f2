import { expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'
import { openSubscriptions } from '../../src/subscriptions/subscriptions.ts'
import { Following, Waiting } from '../../src/subscriptions/following.ts'
import { openLog } from '../../src/log.ts'
import { openStillSeen } from '../../modules/events/follow.ts'

const longMs = 60_000

/** Somebody who knows of a version, and where they are told of others. */
function follow(version: number) {
  const waiting = new Waiting()
  const following = new Following(version)
  const leave = waiting.add('p', following)
  const hear = (version: number) => waiting.hear({ projectId: 'p', version })
  const see = (version: number) => waiting.see({ projectId: 'p', version })
  return { waiting, following, hear, see, leave }
}

test('who waits hears of what is new, and of nothing else', async () => {
  const { following, hear, see } = follow(3)
  const news = following.moved(3, longMs)
  for (const version of [2, 3]) hear(version)
  see(3)
  hear(4)
  expect(await news).toBe(4)
  following.end()
})

test('what was heard by somebody busy they find at once: the newest, and once', async () => {
  const { following, hear } = follow(3)
  for (const version of [4, 5]) hear(version)
  expect(await following.moved(3, longMs)).toBe(5)
  hear(6)
  // They have read on to there by themselves.
  const news = following.moved(6, longMs)
  hear(6)
  hear(7)
  expect(await news).toBe(7)
  following.end()
})

test('a version that is behind is doubtful, also to somebody busy', async () => {
  const { following, see, hear } = follow(3)
  const news = following.moved(3, longMs)
  see(2)
  expect(await news).toBeUndefined()
  see(1)
  expect(await following.moved(3, longMs)).toBeUndefined()
  // Known by now, and no doubt any more.
  const later = following.moved(1, longMs)
  see(1)
  hear(2)
  expect(await later).toBe(2)
  following.end()
})

test('what was heard of and lost is forgotten, and what is heard after that is not', async () => {
  const { following, hear, see } = follow(3)
  hear(4)
  following.forget(3)
  const news = following.moved(3, longMs)
  see(3)
  hear(4)
  expect(await news).toBe(4)
  hear(5)
  following.forget(4)
  hear(5)
  expect(await following.moved(4, longMs)).toBe(5)
  following.end()
})

test('when the time is up nothing came, however often it was waited for', async () => {
  const { following, hear } = follow(0)
  const began = performance.now()
  for (let version = 1; version <= 3; version++) {
    const news = following.moved(version - 1, 40)
    hear(version)
    expect(await news).toBe(version)
  }
  await Bun.sleep(20)
  expect(await following.moved(3, 40)).toBeUndefined()
  expect(performance.now() - began).toBeGreaterThan(55)
  following.end()
})

test('all who wait are woken at the end, and who left is told nothing', async () => {
  const { waiting, following, leave } = follow(3)
  const news = following.moved(3, longMs)
  waiting.wakeAll()
  expect(await news).toBeUndefined()
  expect(waiting.countOf('p')).toBe(1)
  leave()
  expect(waiting.countOf('p')).toBe(0)
  const last = following.moved(3, longMs)
  following.end()
  expect(await last).toBeUndefined()
})

test('the version is read as soon as somebody waits or follows, for it may have moved just before', async () => {
  const asked: string[][] = []
  const sql = (_: unknown, ids: string[]) => Promise.resolve((asked.push(ids), []))
  const hints = { listen: () => {}, areHeard: true }
  const seats = { subscribers: 10, subscribersPerAccount: 10 }
  const subscriptions = openSubscriptions(sql as never, hints as never, seats, openLog('silent'))
  const over = new AbortController()
  const news = subscriptions.follow([{ projectId: 'p', version: 3 }], over.signal).moved(3, longMs)
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(asked).toEqual([['p']])
  subscriptions.follow([{ projectId: 'q', version: 3 }], over.signal)
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(asked).toEqual([['p'], ['q']])
  over.abort()
  subscriptions.end()
  expect(await news).toBeUndefined()
})

const versionOf = (version: number) => ({ version, lastEventId: `event-${version}` })

/** Whether the database is asked before events up to seq 5 are sent, all up to `known` being known to change no rights. */
async function isAsked({ known = 5, seen = 5, heard = 5 }): Promise<boolean> {
  const caller = { userId: 'somebody' }
  const recent = { sameRightsSince: () => versionOf(known) }
  const stillSeen = openStillSeen({ authenticate: { caller: () => caller }, recent } as never)
  let asked = false
  const frames = { end: { seq: 5 }, seenBy: async () => ((asked = true), versionOf(9)) }
  const at = { seen: { projectId: 'p', ...versionOf(seen) }, held: versionOf(3), position: { seq: 3 } }
  await stillSeen({ request: null } as never, at as never, frames as never, { beyond: heard } as never)
  return asked
}

test('rights are read again before events are sent, unless all that is heard of is known to leave them alone', async () => {
  expect(await isAsked({})).toBeFalse()
  expect(await isAsked({ known: 4 })).toBeTrue()
  expect(await isAsked({ seen: 6 })).toBeTrue()
  expect(await isAsked({ heard: 6 })).toBeTrue()
  expect(await isAsked({ known: 6, seen: 6, heard: 6 })).toBeFalse()
})
