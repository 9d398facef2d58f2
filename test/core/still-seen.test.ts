import { expect, test } from 'bun:test'
import { openStillSeen } from '../../modules/events/follow.ts'

const versionOf = (version: number) => ({ version, lastEventId: `event-${version}` })

/** Whether the database is asked before events up to seq 5 are sent, all up to `known` being known to change no rights. */
async function isAsked({ known = 5, seen = 5, heard = 5 }): Promise<boolean> {
  const caller = { userId: 'somebody' }
  const recent = { plainSince: () => versionOf(known) }
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
