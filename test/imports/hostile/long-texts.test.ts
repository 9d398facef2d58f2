import { readComments, readPerson } from '../../../modules/exports/cells.ts'
import { withoutLabels } from '../../../modules/imports/readers/csv-sources/to-do-lists.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { reading } from '../readers/reading.ts'

const million = 1_000_000

// A regular expression that takes quadratic time needs minutes for a million characters.

test('reads the key of a GitHub issue from an address of 900,000 characters', async () => {
  const keyOf = async (url: string) => {
    const { items } = await reading(readers.github, JSON.stringify({ url, number: 7, title: 'T' }), {
      partBytes: 65_536,
    })
    return items.map((item) => item.kind === 'task' && item.key)
  }
  expect(await keyOf('a'.repeat(900_000))).toEqual(['#7'])
  expect(await keyOf('https://github.example.com/ada/engine/pull/12#comment')).toEqual(['ada/engine#12'])
  expect(await keyOf('https://api.github.com/repos/ada/engine/issues/3')).toEqual(['ada/engine#3'])
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
