import { FieldKeys } from '../../../modules/imports/convert/fields.ts'
import { Notes } from '../../../modules/imports/convert/notes.ts'
import { ImportError } from '../../../modules/imports/items.ts'
import { KeyMap } from '../../../modules/imports/readers/key-map.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { reading } from '../readers/reading.ts'
import { upTo } from '../../kit.ts'

test('gives 40,000 fields with the same name different keys', () => {
  const keys = new FieldKeys()
  expect(keys.keyFor('size_3')).toBe('size_3')
  const given = upTo(40_000).map((n) => keys.keyFor('Size', `id ${n}`))
  expect(given.slice(0, 3)).toEqual(['size', 'size_2', 'size_4'])
  expect(new Set(given).size).toBe(40_000)
  expect(keys.keyFor('Size', 'id 1')).toBe(given[0]!)
})

test('rejects a Jira file with more than 200,000 links between issues', async () => {
  const links = ',A-1'.repeat(1_000)
  const file = `Summary,Issue key${',Outward issue link (Blocks)'.repeat(1_000)}\n${`a,A-2${links}\n`.repeat(201)}`
  const message = 'The file has more than 200,000 links between issues'
  await expect(reading(readers.jira, file, { partBytes: 65_536 })).rejects.toEqual(new ImportError(message))
})

test('rejects ids with more than 32 million characters', () => {
  const map = new KeyMap<string>()
  const key = 'x'.repeat(200)
  for (const n of upTo(160_000)) map.set(`${n}`, key)
  expect(() => map.set('x', key)).toThrow('The ids of the rows have more than 32,000,000 characters')
})

test('reports at most 1,000 rows of a Todoist file that are not tasks', async () => {
  const file = `TYPE,CONTENT\n${`other,a,${'x'.repeat(2_000)}\n`.repeat(1_500)}`
  const { messages } = await reading(readers.todoist, file, { partBytes: 65_536 })
  expect(messages).toHaveLength(1_000)
  expect(messages[0]).toBe(`Row 1: Without a header: ${'x'.repeat(475)}`)
  expect(messages.at(-1)).toBe('Further rows are not reported')
})

test('keeps only the notes that fit in the description and in the report', () => {
  const notes = new Notes()
  for (const n of upTo(100_000))
    notes.addToFoot(`Label: ${n}`, `The project has no space for the label "${n}"`)
  expect(JSON.stringify(notes).length).toBeLessThan(50_000)
  const description = notes.describe('In brass')!
  expect(description).toStartWith('In brass\n\n---\nLabel: 1\nLabel: 2\n')
  expect(description.length).toBe('In brass\n\n---\n'.length + 10_000)
  expect(notes.message).toStartWith('The project has no space for the label "1". ')
  expect(notes.message.length).toBe(2_000)
})
