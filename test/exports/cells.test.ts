import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  childCell,
  commentCell,
  escapeFormula,
  linesCell,
  personCell,
  readChildren,
  readComments,
  readPerson,
  subtaskCell,
  unescapeFormula,
} from '../../modules/exports/cells.ts'
import { subtasksOf } from '../../modules/imports/readers/csv/values.ts'
import { cases } from '../support/depth.ts'

const numRuns = { numRuns: cases(200) }
/** A name with `@` could be read as an address. */
const name = fc.stringMatching(/^[^\s<>@\n\r]([^<>@\n\r]{0,20}[^\s<>@\n\r])?$/)
const trimmed = fc
  .array(fc.constantFrom('a', '"', '\n', '  ', '2027-01-31T17:00:00.000Z', ' Ada', ': ', '[x] ', 'é', '\r'))
  .map((parts) => parts.join('').trim())
  .filter((text) => text !== '')
const comment = fc.record({
  text: trimmed,
  createdAt: fc.constant('2027-01-31T17:00:00.000Z'),
  author: fc.oneof(fc.record({ name }), fc.record({ name, email: fc.constant('ada@example.com') })),
})

test('escapes formulas in cells, and reads the original text', () => {
  const text = fc
    .array(fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', 'a'))
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (one) => {
      expect(escapeFormula(one)).not.toMatch(/^[=+\-@\t\r]/)
      expect(unescapeFormula(escapeFormula(one))).toBe(one)
    }),
    numRuns,
  )
})

test('reads comments, subtasks and people from cells exactly as they were written', () => {
  fc.assert(
    fc.property(fc.array(comment), (all) => {
      expect(readComments(linesCell(all.map(commentCell)))).toEqual(all)
    }),
    numRuns,
  )
  fc.assert(
    fc.property(fc.array(fc.record({ title: name, completed: fc.boolean() })), (all) => {
      expect(subtasksOf(linesCell(all.map(subtaskCell)))).toEqual(all)
    }),
    numRuns,
  )
  fc.assert(
    fc.property(comment, ({ author }) => expect(readPerson(personCell(author))).toEqual(author)),
    numRuns,
  )
})

test('reads the children of a new entity from cells exactly as they were written', () => {
  const definition = { view: { schema: { properties: { title: {}, url: {} } } }, asChild: { text: 'title' } }
  const url = fc.array(fc.constantFrom('  url: ', '\n', 'a', ' ', '\r\n', '"')).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(fc.record({ title: trimmed, url })), (all) => {
      const cells = all.map((one) => childCell(definition as never, one, null))
      expect(readChildren(cells.join('\n'), 'title', ['url'])).toEqual(all)
    }),
    numRuns,
  )
})

test('reads cells that were written by hand', () => {
  expect(readComments('In brass, please.')).toEqual([{ text: 'In brass, please.' }])
  expect(subtasksOf('[x] Draw\u2028Oil')).toEqual([{ title: 'Draw\u2028Oil', completed: true }])
  expect(subtasksOf('Draw\n[X] Oil\n\n')).toEqual([
    { title: 'Draw', completed: false },
    { title: 'Oil', completed: true },
  ])
  expect(readPerson('<ada@example.com>')).toEqual({ name: 'ada@example.com', email: 'ada@example.com' })
  expect(readPerson(' ')).toBeUndefined()
})
