import { expect, test } from 'bun:test'
import { Notes } from '../../../modules/imports/convert/notes.ts'
import { upTo } from '../../races/pair.ts'

const count = 100_000

test('keeps only the notes that fit in the description and in the report', () => {
  const notes = new Notes()
  for (const n of upTo(count)) notes.addToFoot(`Label: ${n}`, `The project has no space for the label "${n}"`)
  expect(JSON.stringify(notes).length).toBeLessThan(50_000)
  const description = notes.describe('In brass')!
  expect(description).toStartWith('In brass\n\n---\nLabel: 1\nLabel: 2\n')
  expect(description.length).toBe('In brass\n\n---\n'.length + 10_000)
  expect(notes.message).toStartWith('The project has no space for the label "1". ')
  expect(notes.message.length).toBe(2_000)
})

test('reports that the foot of the description was cut', () => {
  const notes = new Notes()
  for (const n of upTo(2)) notes.addToFoot(`${n}`.repeat(6_000))
  expect(notes.describe()).toBe(`${'1'.repeat(6_000)}\n${'2'.repeat(3_999)}`)
  expect(notes.message).toMatch(/^The foot of the description was cut at 10000 characters/)
})
