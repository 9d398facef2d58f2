import { expect, test } from 'bun:test'
import { requireMatch } from '../../src/responses/if-match.ts'
import { callers, everyCommand, facts } from './every-command.ts'
import { contextOf, folded, refusalOf } from './given.ts'

const changed = 'The resource has changed: If-Match does not contain its current ETag'

for (const { name, rule, answers, row } of everyCommand) {
  const asking = (ifMatch: string) =>
    callers.map(
      (caller) => refusalOf(() => rule(folded(facts), { ...contextOf(caller), ifMatch }))?.status ?? 200,
    )

  test(`to ${name}, the caller may name the ETag of what is changed`, () => {
    expect(asking(`"${row?.eventId}"`)).toEqual(answers)
  })

  // Who may not do it at all learns nothing of the row from its ETag. What makes a new row has none to match.
  test(`to ${name} is ${row ? 'refused' : 'allowed'} under another ETag`, () => {
    expect(asking('"another"')).toEqual(answers.map((status) => (row && status === 200 ? 412 : status)))
  })
}

const passes = (ifMatch: string | undefined) =>
  refusalOf(() => requireMatch({ ...contextOf('anyone'), ifMatch }, { eventId: 'e1' }))

test('without a condition, with any, or with one of several that fits, a write goes on', () => {
  for (const header of [undefined, '*', ' * ', '"e1"', '"e0", "e1"', '"e0","e1" ,"e2"']) {
    expect(passes(header)).toBeUndefined()
  }
})

test('a weak ETag never matches, nor does part of one or one without quotes', () => {
  for (const header of ['W/"e1"', 'e1', '"e"', '"e11"', '"E1"', '', '""']) {
    expect(passes(header)).toEqual({ status: 412, message: changed })
  }
})
