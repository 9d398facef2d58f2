import { csvColumns } from '../../../modules/exports/cells.ts'
import { ImportError } from '../../../modules/imports/items.ts'
import type { Mapping } from '../../../modules/imports/mapping.ts'
import { columnsError } from '../../../modules/imports/readers/csv/columns.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { upTo } from '../../kit.ts'
import { reading, tasksOf } from './reading.ts'

const read = (file: string, columns?: Mapping['columns']) =>
  reading(readers.csv, file, { mapping: { columns } })

test('reads columns by their usual names, and proposes the mapping', async () => {
  const file =
    'Name,Status,Deadline,Assigned to,Tags,Estimate,Estimate\r\nOil the wheels,Doing,2026-11-21,Ada,"a, b",3 h,\r\n'
  const { items, proposal } = await read(file)
  expect(items).toEqual([
    { kind: 'field', row: 1, key: 'estimate', name: 'Estimate', type: 'text' },
    {
      ...{ kind: 'task', row: 1, key: expect.stringMatching(/^[\w-]{22}$/), hasNoId: true },
      ...{ title: 'Oil the wheels', list: 'Doing', dueDate: '2026-11-21', assignee: { name: 'Ada' } },
      ...{ labels: ['a', 'b'], fields: { estimate: '3 h' } },
    },
  ])
  expect(proposal.columns).toEqual({
    ...{ Name: 'title', Status: 'status', Deadline: 'dueDate', 'Assigned to': 'assignee' },
    ...{ Tags: 'labels', Estimate: 'field.estimate' },
  })
})

test('gives tasks without an id the same key in each reading, also if white space has changed, and equal tasks different keys', async () => {
  const keysOf = async (file: string) => tasksOf(await read(file)).map(({ key }) => key)
  const keys = await keysOf('title,status\na b,Doing\nb,Doing\n"a\r\n b",Done\n')
  expect(keys[2]).toBe(`${keys[0]}#2`)
  expect(await keysOf('title\nb\na b\na b\n')).toEqual([keys[1]!, keys[0]!, keys[2]!])
})

test('reads the parts of a task, and several columns for completed tasks', async () => {
  const rows = [
    'ID,Title,Owner,Owner email,Subtasks,Completed,Done,Section,Status',
    'A-1,a,Ada,ada@example.com,"- [x] one\n- [ ] two\n☑ three",2026-11-20,0,Mill,Doing',
    'A-2,b,,,,no,0,Mill,',
    'A-3,,,,,,1,,',
  ]
  const subtask = { kind: 'subtask', row: 1, task: 'A-1' }
  expect((await read(rows.join('\n'))).items.slice(1)).toEqual([
    {
      ...{ kind: 'task', row: 1, key: 'A-1', title: 'a', list: 'Doing', status: 'DONE', labels: ['Mill'] },
      ...{ assignee: { name: 'Ada', email: 'ada@example.com' }, fields: { completed: '2026-11-20' } },
    },
    { ...subtask, title: 'one', completed: true },
    { ...subtask, title: 'two', completed: false },
    { ...subtask, title: 'three', completed: true },
    { kind: 'task', row: 2, key: 'A-2', title: 'b', list: 'Mill' },
    { kind: 'task', row: 3, key: 'A-3', title: '', status: 'DONE', problem: 'The row has no title' },
  ] as never)
})

test('reads people, comments and subtasks in cells that were written by hand', async () => {
  const cells = ['a', '<ada@example.com>', '"In brass, please."', '[x] Draw\u2028Oil', '"Draw\n[X] Oil\n\n"']
  const { items } = await read(`Title,Owner,Comments,Subtasks,Checklist\n${cells}\n`)
  expect(items.map(({ row: _, ...item }) => item)).toMatchObject([
    { kind: 'task', title: 'a', assignee: { name: 'ada@example.com', email: 'ada@example.com' } },
    { title: 'Draw\u2028Oil', completed: true },
    { title: 'Draw', completed: false },
    { title: 'Oil', completed: true },
    { kind: 'comment', text: 'In brass, please.' },
  ])
})

test.each<[what: string, file: string, tasks: object[]]>([
  [
    'rows with missing or further cells',
    'title,status,note\na\nb,Done,x,,\nc,Done,x,more\n,,\n',
    [
      { row: 1, title: 'a', messages: ['The row has 1 cell, and the header 3'] },
      { row: 2, title: 'b', description: 'x', messages: undefined },
      {
        ...{ row: 3, title: 'c', list: 'Done', notes: ['Without a header: more'] },
        messages: [
          'The row has 4 cells, and the header 3: a cell that contains the separator must be quoted',
        ],
      },
    ],
  ],
  [
    'white space in titles, and formulas after a quote',
    `title,tags,description\n" two\n  lines ","'=a, '","'=1+1"\n'it's,,'+1\n`,
    [
      { title: 'two\n  lines', labels: ['=a', "'"], description: '=1+1' },
      { title: "'it's", description: '+1' },
    ],
  ],
  [
    'lines about the file above the header',
    'Made on Friday\n\n,,\nhttps://example.com,,\nTitle,Status\na,Done\n',
    [{ row: 1, title: 'a', list: 'Done' }],
  ],
  [
    'quotes in cells that do not begin with a quote',
    'title,description\n5" disk,a "b" c\n"6"" disk",""\nx,y"\r\n',
    [{ title: '5" disk', description: 'a "b" c' }, { title: '6" disk' }, { title: 'x', description: 'y"' }],
  ],
  [
    'several columns for a field',
    'Title,Title,Due,Due,Owner,Owner,Status,Status\na,A,2026-01-02,2026-01-03,Ada,Bob,Doing,Done\n,b,2026-01-02,2026-01-02,,Bob,,Done\n',
    [
      {
        ...{ title: 'a', dueDate: '2026-01-02', assignee: { name: 'Ada' }, list: 'Doing' },
        notes: ['Title: A', 'Due: 2026-01-03', 'Owner: Bob', 'Status: Done'],
      },
      { title: 'b', dueDate: '2026-01-02', assignee: { name: 'Bob' }, list: 'Done', notes: undefined },
    ],
  ],
  [
    'several columns of labels, comments and fields',
    'Title,Labels,Labels,Comment,Comment,Sprint,Sprint\na,x,"y, X",1,2,S1,S2\n',
    [{ labels: ['x', 'y', 'X'], fields: { sprint: 'S1, S2' } }],
  ],
  [
    'a repeated header, as in two joined files',
    'title,size\na,1\n\ufefftitle,size\nb,2\n',
    [{ title: 'a' }, { row: 2, problem: 'The row repeats the header' }, { row: 3, fields: { size: 2 } }],
  ],
  [
    'headers and values that are properties of every object',
    'title,constructor,__proto__,toString,status\na,1,x,y,constructor\n',
    [{ list: 'constructor', fields: { constructor: 1, proto: 'x', tostring: 'y' } }],
  ],
])('reads %s', async (_, file, tasks) => {
  for (const partBytes of [1, 7, 1_000]) {
    const found = tasksOf(await reading(readers.csv, file, { partBytes }))
    expect(found.map((task, n) => ({ ...undefinedIn(tasks[n]), ...task }))).toMatchObject(tasks)
  }
})
/** `toMatchObject` compares an absent value with undefined. */
const undefinedIn = (task: object = {}) =>
  Object.fromEntries(Object.entries(task).filter(([, value]) => value === undefined))

test('prefers the columns of the mapping, and reports names that the file has no column for', async () => {
  const columns = { Titel: 'title', Frist: 'dueDate', Rang: null, Absent: 'labels', titel: null }
  const result = await read('Name,Titel,Frist,Rang\nx,a,2026-11-20,5\n', columns)
  expect(tasksOf(result)).toMatchObject([{ title: 'a', dueDate: '2026-11-20', fields: { name: 'x' } }])
  const { Name, Rang } = result.proposal.columns!
  expect([Name, Rang]).toEqual(['field.name', null])
  const message = 'The file has no column for these names in mapping.columns:'
  expect(result.messages).toEqual([`${message} "Absent", "titel"`])
  const others = Object.fromEntries(upTo(12).map((n) => [`${n}`.repeat(60), null]))
  const { messages } = await read('Title\na\n', others)
  expect(messages[0]).toEndWith(`"${'9'.repeat(50)}", "${'10'.repeat(25)}", and 2 others`)
  expect((await read('title,\na,1\n', (await read('title,\na,1\n')).proposal.columns)).messages).toEqual([])
})

test('finds the columns of the mapping in another Unicode form', async () => {
  const keys = new Set<string>()
  const mapping = { Überschrift: 'title', Größe: 'field.size', Priorität: 'priority', Größte: null }
  for (const [form, other] of [['NFC', 'NFD'] as const, ['NFD', 'NFC'] as const]) {
    const file = 'Überschrift,Größe,日付ガ,Priorität,Größte\na,5,x,Höchste,y\n'.normalize(form)
    const columns = Object.entries(mapping).map(([name, target]) => [name.normalize(other), target])
    const result = await read(file, Object.fromEntries(columns))
    expect(tasksOf(result)).toMatchObject([{ title: 'a', priority: 'HIGH', fields: { size: 5 } }])
    keys.add(Object.keys(tasksOf(result)[0]!.fields!).join())
    expect(result.messages).toEqual([])
  }
  expect(keys.size).toBe(1)
})

test('accepts section, key and comment for list, id and comments', async () => {
  const result = await read('a,b,c,d\n1,2,3,4\n', { a: 'title', b: 'section', c: 'key', d: 'comment' })
  expect(result.items).toEqual([
    { kind: 'task', row: 1, title: '1', list: '2', key: '3' },
    { kind: 'comment', row: 1, task: '3', text: '4' },
  ])
})

test.each<[Mapping['columns'], string]>([
  [{ Title: 'title', Other: 'title' }, 'Only one column can be the title, but these are: Title, Other'],
  [{ Title: null }, 'No column is the title. Send mapping.columns, such as {"Title": "title"}'],
])('rejects the columns %j', async (columns, message) => {
  const error = await read('Title,Other\na,b\n', columns).catch((failure: unknown) => failure)
  expect(error).toBeInstanceOf(ImportError)
  expect((error as Error).message).toStartWith(message)
})

test('suggests the nearest field for an unknown one', () => {
  expect(columnsError({ Title: 'titel' })).toMatch(
    /^mapping.columns.Title must be null, field.<key>, or one of title, .*; did you mean title\?$/,
  )
  for (const name of ['field.Größe', 'constructor'])
    expect(columnsError({ Title: name })).toMatch(/^mapping.columns.Title must be null, .* id$/)
})

test.each([
  ['Size', '-1.5,20', 'number', -1.5],
  ['Size', '3.0,0.5', 'number', 3],
  ['Size', '12.50,3.00', 'number', 12.5],
  ['Size', '10,1.5', 'number', 10],
  ['ok?', 'TRUE,false', 'boolean', true],
  ['on', '2026-02-28,2026-03-01', 'date', '2026-02-28'],
  ['on', '2026-02-29', 'text', '2026-02-29'],
  ['zip', '007,8', 'text', '007'],
  ['mixed', '1,x', 'text', '1'],
  ['Release', '1.10,1.1', 'text', '1.10'],
  ['Release', '1.0,2', 'text', '1.0'],
  ['Fix Version/s', '1.0', 'text', '1.0'],
  ['appVersion', '2', 'text', '2'],
  ['Versions', 'true', 'text', 'true'],
  ['Conversion', '2', 'number', 2],
  ['field.version', '2,1.5', 'number', 2],
  ['field.n', '1e+21,-1e-7,0.1234567', 'number', 1e21],
  ['field.n', '-0.125', 'number', -0.125],
  ...['1.50', 'TRUE', '-0', '1e5', '007', '0.10'].map((text) => ['field.t', text, 'text', text] as const),
])('reads %s with %s as a %s', async (header, values, type, first) => {
  const { items } = await read(`Title,${header}\n${values.replace(/(^|,)/g, '\na,')}`)
  expect(items[0]).toMatchObject({ kind: 'field', type, name: header.replace('field.', '') })
  expect(Object.values(tasksOf({ items })[0]!.fields!)).toEqual([first])
})

test('gives fields different keys, also for headers in other scripts, and turns fields above 50 into notes', async () => {
  const { proposal } = await read('title,Größe,GRÖSSE!,2nd,優先,重要,Größe (m),no\na,1,2,3,4,5,6,\n')
  const keys = Object.values(proposal.columns!).slice(1)
  expect(keys.slice(0, 3)).toEqual(['field.gro_e', 'field.grosse', 'field.nd'])
  expect(keys[3]).toMatch(/^field\.f_[0-9a-f]{8}$/)
  expect([new Set(keys).size, keys[6]]).toEqual([7, null])
  const names = upTo(60).map((n) => `c${n}`)
  const many = await read(`title,${names}\na,${names.map((name) => `v${name}`)}\n`)
  expect(many.items.filter(({ kind }) => kind === 'field')).toHaveLength(50)
  expect(tasksOf(many)[0]!.notes).toEqual(names.slice(50).map((name) => `${name}: v${name}`))
})

test('reports rows of Todoist that are not tasks, and reads all cells of titles with unquoted commas', async () => {
  const file = `TYPE,CONTENT,DESCRIPTION,PRIORITY,INDENT
section,Home,Around the house,,
task,Inventory: services, jobs, batch,1,1
section,Identity,,Secrets,
note,Look,,,,extra
`
  const { items, messages } = await reading(readers.todoist, file)
  expect(tasksOf({ items })).toMatchObject([
    {
      ...{ title: 'Inventory: services', description: ' jobs', list: 'Home' },
      notes: ['PRIORITY:  batch', 'Without a header: 1'],
    },
  ])
  for (const line of [
    'Row 1: The description of the section was not imported: Around the house',
    'Row 3: PRIORITY: Secrets',
    'Row 4: Without a header: extra',
  ])
    expect(messages).toContain(line)
  const named = await reading(readers.todoist, 'TYPE,CONTENT,NAME\ntask,a,b\n')
  expect(tasksOf(named)).toMatchObject([{ title: 'a', fields: { name: 'b' } }])
})

test('reads the first author of a row of an export of Docket, and original texts of formulas', async () => {
  const row: Record<string, string> = { id: 'A', title: "'=Oil", author: 'Grace <grace@example.com>' }
  const fileOf = (importedAuthor: string) =>
    `${csvColumns}\r\n${csvColumns.map((name) => ({ ...row, importedAuthor })[name] ?? '')}\r\n`
  const grace = { name: 'Grace', email: 'grace@example.com' }
  expect(tasksOf(await read(fileOf('')))).toMatchObject([{ title: '=Oil', author: grace }])
  expect(tasksOf(await read(fileOf('Bob')))).toMatchObject([{ title: '=Oil', author: { name: 'Bob' } }])
})
