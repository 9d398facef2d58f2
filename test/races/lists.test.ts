import { expect, test } from 'bun:test'
import { listsOf, rowsFrom } from '../../src/commit/lists.ts'
import type { Column } from '../../src/postgres/columns.ts'
import { forFile, openTestService } from '../support/service.ts'

const service = await forFile(openTestService())

const column = (key: string, type: string): Column => ({ key, name: key, type })
const columns = [column('n', 'integer'), column('id', 'uuid'), column('text', 'text'), column('doc', 'jsonb')]

async function sent(rows: object[]): Promise<object[]> {
  const { reads } = service.services.database
  return [...(await reads.unsafe(rowsFrom(columns, 1), listsOf(columns, rows), { prepare: true }))]
}

const texts = [
  '',
  'null',
  'NULL',
  '"',
  '\\',
  '\\"',
  '{a,b}',
  ',',
  ' a ',
  'a\nb',
  '\r\n\t\u001e',
  "'; --",
  'ßœ漢😀',
  '\u2028',
  '$1',
]
const id = '019ab2f0-0000-7000-8000-000000000000'

test('rows come out of their lists as they went in, whatever is written in them', async () => {
  const rows = texts.map((text, n) => ({ n, id, text, doc: { [text]: text, deep: [text, null, 0.5, true] } }))
  expect(await sent(rows)).toEqual(rows)
})

test('what is absent comes out as null, alone and among others', async () => {
  const nothing = { id: null, text: null, doc: null }
  expect(await sent([{ n: 1 }])).toEqual([{ n: 1, ...nothing }])
  const something = { n: 2, id, text: 'null', doc: {} }
  expect(await sent([{ n: 1 }, something, { n: 3, ...nothing }])).toEqual([
    { n: 1, ...nothing },
    something,
    { n: 3, ...nothing },
  ])
  expect(await sent([])).toEqual([])
})
