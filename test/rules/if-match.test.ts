import { expect, test } from 'bun:test'
import { requireMatch } from '../../src/responses/if-match.ts'
import { callers, everyCommand, events } from './every-command.ts'
import { contextOf, folded, errorOf } from './given.ts'

const changed = 'The resource has changed: If-Match does not contain its current ETag'

for (const { name, rule, answers, row } of everyCommand) {
  const statusesWith = (ifMatch: string) =>
    callers.map(
      (caller) => errorOf(() => rule(folded(events), { ...contextOf(caller), ifMatch }))?.status ?? 200,
    )

  test(`an If-Match with the current ETag does not change who may ${name}`, () => {
    expect(statusesWith(`"${row?.eventId}"`)).toEqual(answers)
  })

  // A caller without the right gets 403 or 404, not 412. A command that creates a row ignores If-Match.
  test(`an If-Match with another ETag ${row ? 'rejects the request' : 'has no effect on the request'} to ${name}`, () => {
    expect(statusesWith('"another"')).toEqual(answers.map((status) => (row && status === 200 ? 412 : status)))
  })
}

const passes = (ifMatch: string | undefined) =>
  errorOf(() => requireMatch({ ...contextOf('anyone'), ifMatch }, { eventId: 'e1' }))

test('If-Match passes if it is absent, *, or a list that contains the ETag', () => {
  for (const header of [undefined, '*', ' * ', '"e1"', '"e0", "e1"', '"e0","e1" ,"e2"'])
    expect(passes(header)).toBeUndefined()
})

test('If-Match rejects weak, partial and unquoted ETags with 412', () => {
  for (const header of ['W/"e1"', 'e1', '"e"', '"e11"', '"E1"', '', '""'])
    expect(passes(header)).toEqual({ status: 412, message: changed })
})
