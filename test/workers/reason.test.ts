import { expect, test } from 'bun:test'
import { notFound } from '../../src/wire/refusals.ts'
import { reasonOf } from '../../workers/reason.ts'

const refused = (code: string, message: string) =>
  Object.assign(new Error(message), { code, detail: 'Key (email)=(ada@example.com) already exists.' })

test.each<[string, unknown]>([
  ['It is broken', new Error('It is\n  broken\0')],
  ['Project not found', notFound('Project')],
  ['a word', 'a word'],
  ['null', null],
  ['undefined', undefined],
  ['TypeError', new TypeError()],
  ['42P01: relation "tasks" does not exist', refused('42P01', 'relation "tasks" does not exist')],
  ['22P02: invalid input: "…"', refused('22P02', 'invalid input: "a "secret"\nword"')],
])('%s', (reason, error) => expect(reasonOf(error)).toBe(reason))

test('a long reason is cut, and never within a character', () => {
  const reason = reasonOf(new Error(`x${'🙂'.repeat(1_000)}`))
  expect(reason.length).toBeLessThanOrEqual(500)
  expect(reason.isWellFormed()).toBe(true)
})
