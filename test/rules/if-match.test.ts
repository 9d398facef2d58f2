import { callers, everyCommand, events } from './every-command.ts'
import { contextOf, folded, errorOf } from './given.ts'

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
