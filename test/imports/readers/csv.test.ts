import { expect, test } from 'bun:test'
import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'
import { reading, tasksOf } from './reading.ts'

test('reads columns by their usual names, and proposes the mapping', async () => {
  const file =
    'Name,Status,Deadline,Assigned to,Tags,Estimate\r\nOil the wheels,Doing,2026-11-21,Ada,"a, b",3\r\n'
  const { items, proposal } = await reading(readCsv, file)
  expect(items).toEqual([
    { kind: 'field', row: 1, key: 'estimate', name: 'Estimate', type: 'number' },
    {
      kind: 'task',
      row: 1,
      key: expect.stringMatching(/^[\w-]{22}$/),
      title: 'Oil the wheels',
      list: 'Doing',
      dueDate: '2026-11-21',
      assignee: { name: 'Ada' },
      labels: ['a', 'b'],
      fields: { estimate: 3 },
    },
  ])
  expect(proposal.columns).toEqual({
    Name: 'title',
    Status: 'status',
    Deadline: 'dueDate',
    'Assigned to': 'assignee',
    Tags: 'labels',
    Estimate: 'field.estimate',
  })
})

test.each([',', ';', '\t', '|'])('finds the separator %j', async (separator) => {
  const file = [
    ['title', 'status', 'note'],
    ['a', 'Done', `"x ${separator} y"`],
  ]
  const read = await reading(readCsv, file.map((cells) => cells.join(separator)).join('\n'))
  expect(tasksOf(read)).toMatchObject([{ title: 'a', list: 'Done', description: `x ${separator} y` }])
})
