import { expect, test } from 'bun:test'
import { csvColumns, escapeFormula } from '../../../modules/exports/cells.ts'
import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'
import { reading } from './reading.ts'

const quote = (value: string) => `"${escapeFormula(value).replaceAll('"', '""')}"`
const file = (rows: Record<string, string>[], fields: string[] = []) => {
  const names = [...csvColumns, ...fields]
  const lines = rows.map((row) => names.map((name) => quote(row[name] ?? '')).join())
  return `\ufeff${[names.join(), ...lines].join('\r\n')}\r\n`
}

test('reads external ids and text fields exactly as an export of Docket contains them', async () => {
  const texts = ['1.50', 'TRUE', '-0', '1e5', '007', '0.10']
  const rows = texts.map((text, n) => ({ title: `${n}`, externalId: `A  ${n}`, 'field.note': text }))
  for (const row of rows) {
    const { items } = await reading(readCsv, file([row], ['field.note']))
    expect(items).toMatchObject([
      { kind: 'field', type: 'text' },
      { externalId: row.externalId, fields: { note: row['field.note'] } },
    ])
  }
  const { items } = await reading(readCsv, file([{ title: 'a', 'field.note': '-0.125' }], ['field.note']))
  expect(items[0]).toMatchObject({ type: 'number' })
})

test('reads an export of Docket without a mapping', async () => {
  const rows = [
    {
      ...{
        id: '01a2061c-0001',
        number: '7',
        title: '=Oil',
        description: "'- all, wheels\n",
        status: 'IN_PROGRESS',
      },
      ...{ priority: 'HIGH', dueDate: '2027-01-31T17:00:00.000Z', remindAt: '2027-01-30T17:00:00.000Z' },
      ...{ assignee: 'Ada Lovelace <ada@example.com>', labels: 'a, b\nc;d', externalId: 'JIRA-42' },
      ...{ blockedBy: '01a2061c-0002\n01a2061c-0003', createdAt: '2026-11-20T10:00:00.123Z' },
      ...{
        updatedAt: '2026-11-21T10:00:00.000Z',
        author: 'Grace <grace@example.com>',
        importedAuthor: 'Bob',
      },
      subtasks: '[x] one, two\n[ ] [x] three',
      comments:
        '2026-11-20T10:05:00.000Z Grace <grace@example.com>\n  In brass,\n  \n  please.\n2026-11-20T10:06:00.000Z Bob\n  Yes',
      ...{ 'field.size': '12', 'field.note': 'x\ny' },
    },
    {
      id: '01a2061c-0002',
      number: '8',
      title: 'b',
      status: 'TODO',
      priority: 'MEDIUM',
      author: 'Grace <grace@example.com>',
    },
  ]
  const { items, proposal } = await reading(readCsv, file(rows, ['field.size', 'field.note']))
  expect(items).toEqual([
    { kind: 'field', row: 1, key: 'size', name: 'size', type: 'number' },
    { kind: 'field', row: 1, key: 'note', name: 'note', type: 'text' },
    {
      ...{ kind: 'task', row: 1, key: '01a2061c-0001', externalId: 'JIRA-42', title: '=Oil' },
      ...{ description: "'- all, wheels\n", status: 'IN_PROGRESS', priority: 'HIGH' },
      ...{ dueDate: '2027-01-31T17:00:00.000Z', remindAt: '2027-01-30T17:00:00.000Z' },
      ...{ assignee: { name: 'Ada Lovelace', email: 'ada@example.com' }, labels: ['a, b', 'c;d'] },
      ...{ blockedBy: ['01a2061c-0002', '01a2061c-0003'], createdAt: '2026-11-20T10:00:00.123Z' },
      ...{ author: { name: 'Bob' }, fields: { size: 12, note: 'x\ny' } },
    },
    { kind: 'subtask', row: 1, task: '01a2061c-0001', title: 'one, two', completed: true },
    { kind: 'subtask', row: 1, task: '01a2061c-0001', title: '[x] three', completed: false },
    {
      ...{ kind: 'comment', row: 1, task: '01a2061c-0001', text: 'In brass,\n\nplease.' },
      ...{ author: { name: 'Grace', email: 'grace@example.com' }, createdAt: '2026-11-20T10:05:00.000Z' },
    },
    {
      ...{ kind: 'comment', row: 1, task: '01a2061c-0001', text: 'Yes', author: { name: 'Bob' } },
      createdAt: '2026-11-20T10:06:00.000Z',
    },
    {
      ...{ kind: 'task', row: 2, key: '01a2061c-0002', title: 'b', status: 'TODO', priority: 'MEDIUM' },
      author: { name: 'Grace', email: 'grace@example.com' },
    },
  ])
  expect(proposal.columns).toMatchObject({ number: null, updatedAt: null, 'field.size': 'field.size' })
})
