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
      hasNoId: true,
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
  const cells = ['title', 'status', 'note', 'a', 'Done', `"x ${separator} y"`]
  const file = `${cells.slice(0, 3).join(separator)}\n${cells.slice(3).join(separator)}`
  const read = await reading(readCsv, file)
  expect(tasksOf(read)).toMatchObject([{ title: 'a', list: 'Done', description: `x ${separator} y` }])
})

test.each(['\r\n', '\n', '\r'])('reads rows that end with %j', async (end) => {
  const read = await reading(readCsv, ['title,description', 'a,"1', '2"', '', 'b,"say ""hi"""', ''].join(end))
  expect(tasksOf(read)).toMatchObject([
    { row: 1, title: 'a', description: `1${end}2` },
    { row: 2, title: 'b', description: 'say "hi"' },
  ])
})

test('gives tasks without an id the same key in each reading, and equal tasks different keys', async () => {
  const keysOf = async (file: string) => tasksOf(await reading(readCsv, file)).map(({ key }) => key)
  const keys = await keysOf('title,status\na,Doing\nb,Doing\na,Done\n')
  expect(keys[2]).toBe(`${keys[0]}#2`)
  expect(await keysOf('title,status\nb,Done\na,Done\na,Done\n')).toEqual([keys[1]!, keys[0]!, keys[2]!])
})

test('reads people, priorities, subtasks, blockers and completion', async () => {
  const header = 'ID,Title,Priority,Owner,Owner email,Reporter,Subtasks,Blocked by,Completed,Section,Status'
  const rows = [
    'A-1,a,Urgent,Ada,ada@example.com,Bob <bob@example.com>,"- [x] one\n- [ ] two\n☑ three",,2026-11-20,Mill,Doing',
    'A-2,b,none,,,ada@example.com,,"A-1, A-3",no,Mill,',
    'A-3,c,extreme,,,,,,yes,,',
  ]
  const { items } = await reading(readCsv, [header, ...rows].join('\n'))
  expect(items.filter(({ kind }) => kind !== 'field')).toEqual([
    {
      ...{ kind: 'task', row: 1, key: 'A-1', title: 'a', priority: 'HIGH', list: 'Doing', status: 'DONE' },
      assignee: { name: 'Ada', email: 'ada@example.com' },
      author: { name: 'Bob', email: 'bob@example.com' },
      labels: ['Mill'],
      fields: { completed: '2026-11-20' },
    },
    { kind: 'subtask', row: 1, task: 'A-1', title: 'one', completed: true },
    { kind: 'subtask', row: 1, task: 'A-1', title: 'two', completed: false },
    { kind: 'subtask', row: 1, task: 'A-1', title: 'three', completed: true },
    {
      ...{ kind: 'task', row: 2, key: 'A-2', title: 'b', list: 'Mill', blockedBy: ['A-1', 'A-3'] },
      author: { name: 'ada@example.com', email: 'ada@example.com' },
    },
    {
      ...{ kind: 'task', row: 3, key: 'A-3', title: 'c', status: 'DONE', notes: ['Priority: extreme'] },
      messages: ['The priority "extreme" is unknown'],
    },
  ])
})

test('reports rows with missing or further cells, and adds cells without a header to the notes', async () => {
  const read = await reading(readCsv, 'title,status,note\na\nb,Done,x,,\nc,Done,x,more\n,,\n')
  expect(tasksOf(read)).toMatchObject([
    { row: 1, title: 'a', messages: ['The row has 1 cell, and the header 3'] },
    { row: 2, title: 'b', description: 'x' },
    {
      ...{ row: 3, title: 'c', list: 'Done', notes: ['Without a header: more'] },
      messages: ['The row has 4 cells, and the header 3: a cell that contains the separator must be quoted'],
    },
  ])
  expect(tasksOf(read)[1]).not.toHaveProperty('messages')
})

test('rejects a row without a title', async () => {
  const read = await reading(readCsv, 'id,title,description\n1,,In brass\n2,Oil,\n')
  expect(tasksOf(read)).toMatchObject([{ title: '', problem: 'The row has no title' }, { title: 'Oil' }])
})

test('keeps white space in titles, and removes the quote before a formula', async () => {
  const file = `title,tags,description\n" two\n  lines ","'=a, '","'=1+1"\n'it's,,'+1\n`
  const read = await reading(readCsv, file)
  expect(tasksOf(read)).toMatchObject([
    { title: 'two\n  lines', labels: ['=a', "'"], description: '=1+1' },
    { title: "'it's", description: '+1' },
  ])
})

test('skips lines about the file above the header', async () => {
  const read = await reading(readCsv, 'Made on Friday\n\n,,\nhttps://example.com,,\nTitle,Status\na,Done\n')
  expect(tasksOf(read)).toMatchObject([{ row: 1, title: 'a', list: 'Done' }])
})

test('finds a task without an id again if only white space in its title has changed', async () => {
  const [one, two] = tasksOf(await reading(readCsv, 'title\n"two\r\n lines"\ntwo lines\n'))
  expect(two!.key).toBe(`${one!.key}#2`)
})

test('reads a quote in a cell that does not begin with a quote', async () => {
  const file = 'title,description\n5" disk,a "b" c\n"6"" disk",""\nx,y"\r\n"",\n'
  for (const partBytes of [1, 7, 1_000]) {
    const read = await reading(readCsv, file, { partBytes })
    expect(tasksOf(read).slice(0, 3)).toMatchObject([
      { title: '5" disk', description: 'a "b" c' },
      { title: '6" disk' },
      { title: 'x', description: 'y"' },
    ])
  }
})

test('uses the first of several columns for a field, and adds the other texts to the notes', async () => {
  const file =
    'Title,Due,Due,Owner,Owner,Status,Status\na,2026-01-02,2026-01-03,Ada,Bob,Doing,Done\nb,2026-01-02,2026-01-02,,Bob,,Done\n'
  expect(tasksOf(await reading(readCsv, file))).toMatchObject([
    {
      ...{ dueDate: '2026-01-02', assignee: { name: 'Ada' }, list: 'Doing' },
      notes: ['Due: 2026-01-03', 'Owner: Bob', 'Status: Done'],
    },
    { dueDate: '2026-01-02', assignee: { name: 'Bob' }, list: 'Done' },
  ])
})

test('rejects a repeated header, as in two joined files', async () => {
  const { items } = await reading(readCsv, 'title,size\na,1\n\ufefftitle,size\nb,2\n')
  expect(items).toMatchObject([
    { kind: 'field', key: 'size', type: 'number' },
    { title: 'a' },
    { row: 2, problem: 'The row repeats the header' },
    { row: 3, title: 'b', fields: { size: 2 } },
  ])
})

test.each([
  ['ja', 'DONE'],
  ['WAHR', 'DONE'],
  ['100%', 'DONE'],
  ['03/04/2026', 'DONE'],
  ['nein', undefined],
  ['FALSCH', undefined],
  ['50%', undefined],
  ['soon', undefined],
])('reads %s in a column for completed tasks', async (text, status) => {
  const [task] = tasksOf(await reading(readCsv, `Title,Done\na,${text}\n`))
  expect(task!.status).toBe(status as 'DONE')
  const isOther = ['50%', 'soon'].includes(text)
  expect([task!.fields?.['done'], task!.messages?.length]).toEqual(
    isOther ? [text, 1] : [text.includes('/') ? text : undefined, undefined],
  )
})

test('reports a date that a spreadsheet has written as a number', async () => {
  const [task] = tasksOf(await reading(readCsv, 'Title,Due\na,45981\n'))
  expect(task).toMatchObject({
    notes: ['Due: 45981'],
    messages: ['The date "45981" cannot be read: format the column of the spreadsheet as dates'],
  })
})

test('reads several columns for completed tasks', async () => {
  const file = 'Title,Done,Completed at\na,1,\nb,0,2026-01-02\nc,0,\n'
  expect(tasksOf(await reading(readCsv, file)).map(({ status }) => status)).toEqual([
    'DONE',
    'DONE',
    undefined,
  ])
})
