import { expect, test } from 'bun:test'
import { readComments, readPerson } from '../../../modules/exports/cells.ts'
import { withoutLabels } from '../../../modules/imports/readers/csv-sources/todoist-text.ts'
import { Entry } from '../../../modules/imports/readers/json/entry.ts'
import { keyOf } from '../../../modules/imports/readers/github/parts.ts'

const million = 1_000_000

// A regular expression that takes quadratic time needs minutes for a million characters.

test('reads the key of a GitHub issue from an address of a million characters', () => {
  const key = (url: string) => keyOf(new Entry('', [], { url, number: 7 }, 1), 'url')
  expect(key('a'.repeat(million))).toBe('#7')
  expect(key('https://github.example.com/ada/engine/pull/12#comment')).toBe('ada/engine#12')
  expect(key('https://api.github.com/repos/ada/engine/issues/3')).toBe('ada/engine#3')
})

test('reads a person from a cell of a million characters', () => {
  const text = `<${'@'.repeat(million)}`
  expect(readPerson(text)).toEqual({ name: text })
  expect(readComments(`2027-01-01T00:00:00Z ${text}\n  In brass`)).toMatchObject([{ text: 'In brass' }])
  expect(readPerson('Ada <b> <ada@example.com>')).toEqual({ name: 'Ada <b>', email: 'ada@example.com' })
})

test('removes the labels from a title with a million spaces', () => {
  const title = `a${' '.repeat(million)}b`
  expect(withoutLabels(title)).toEqual({ title, labels: [] })
  expect(withoutLabels('Oil  @shop  the @now wheels')).toEqual({
    title: 'Oil  the wheels',
    labels: ['shop', 'now'],
  })
})
