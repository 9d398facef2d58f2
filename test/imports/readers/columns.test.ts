import { expect, test } from 'bun:test'
import { ImportError } from '../../../modules/imports/items.ts'
import type { Mapping } from '../../../modules/imports/mapping.ts'
import { columnsError } from '../../../modules/imports/readers/csv/columns.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'
import { upTo } from '../../races/pair.ts'
import { reading, tasksOf } from './reading.ts'

const read = (file: string, columns?: Mapping['columns']) => reading(readCsv, file, { mapping: { columns } })

test('prefers the columns of the mapping to the usual columns', async () => {
  const result = await read('Name,Titel,Frist,Rang\nx,a,2026-11-20,5\n', {
    Titel: 'title',
    Frist: 'dueDate',
    Rang: null,
    Absent: 'labels',
  })
  expect(tasksOf(result)).toMatchObject([{ title: 'a', dueDate: '2026-11-20', fields: { name: 'x' } }])
  expect(result.proposal.columns).toEqual({
    ...{ Name: 'field.name', Titel: 'title', Frist: 'dueDate', Rang: null },
  })
})

test('finds the columns of the mapping in another Unicode form', async () => {
  const keys = new Set<string>()
  for (const form of ['NFC', 'NFD']) {
    const file = 'Überschrift,Größe,日付ガ,Priorität,Größte\na,5,x,Höchste,y\n'.normalize(form)
    const mapping = { Überschrift: 'title', Größe: 'field.size', Priorität: 'priority', Größte: null }
    const other = Object.entries(mapping).map(([name, target]) => [
      name.normalize(form === 'NFC' ? 'NFD' : 'NFC'),
      target,
    ])
    const result = await read(file, Object.fromEntries(other))
    expect(tasksOf(result)).toMatchObject([{ title: 'a', priority: 'HIGH', fields: { size: 5 } }])
    keys.add(Object.keys((tasksOf(result)[0] as { fields: object }).fields).join())
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

test('suggests the nearest field for an unknown one', () => {
  expect(columnsError({ Title: 'titel' })).toMatch(
    /^mapping.columns.Title must be null, field.<key>, or one of title, .*; did you mean title\?$/,
  )
  for (const name of ['field.Größe', 'constructor'])
    expect(columnsError({ Title: name })).toMatch(/^mapping.columns.Title must be null, .* id$/)
})

test.each<[Mapping['columns'], string | RegExp]>([
  [{ Title: 'title', Other: 'title' }, 'Only one column can be the title, but these are: Title, Other'],
  [{ Title: null }, 'No column is the title. Send mapping.columns, such as {"Title": "title"}'],
])('rejects the columns %j', async (columns, message) => {
  const result = read('Title,Other\na,b\n', columns)
  expect(await result.catch((error: unknown) => error)).toBeInstanceOf(ImportError)
  await expect(result).rejects.toThrow(message)
})

test('uses the first text of a repeated title column, and adds the other to the notes', async () => {
  expect(tasksOf(await read('Title,Title\na,b\n,c\n'))).toMatchObject([
    { title: 'a', notes: ['Title: b'] },
    { title: 'c' },
  ])
})

test('reads all columns with the same header', async () => {
  const file = 'Title,Labels,Labels,Comment,Comment,Sprint,Sprint,Due,Due\na,x,"y, X",1,2,S1,S2,2026-01-02,\n'
  const { items } = await read(file)
  expect(items).toMatchObject([
    { kind: 'field', key: 'sprint', type: 'text' },
    { labels: ['x', 'y', 'X'], fields: { sprint: 'S1, S2' }, dueDate: '2026-01-02' },
    { kind: 'comment', text: '1' },
    { kind: 'comment', text: '2' },
  ])
})

test('gives a field the type of all its values, or text', async () => {
  const header = 'title,size,ok?,on,zip,mixed,empty'
  const { items, proposal } = await read(
    `${header}\na,-1.5,TRUE,2026-02-28,007,1,\nb,20,false,2026-03-01,8,x,\n`,
  )
  expect(items.filter(({ kind }) => kind === 'field')).toMatchObject([
    { key: 'size', type: 'number' },
    { key: 'ok', name: 'ok?', type: 'boolean' },
    { key: 'on', type: 'date' },
    { key: 'zip', type: 'text' },
    { key: 'mixed', type: 'text' },
  ])
  expect(items.at(-1)).toMatchObject({
    fields: { size: 20, ok: false, on: '2026-03-01', zip: '8', mixed: 'x' },
  })
  expect(proposal.columns).toMatchObject({ empty: null })
})

test('reads the numbers that an export of Docket writes as numbers', async () => {
  const { items } = await read('title,field.n,field.t\na,1e+21,1e5\nb,-1e-7,2\nc,0.1234567,3\n')
  expect(items.filter(({ kind }) => kind === 'field')).toMatchObject([
    { key: 'n', type: 'number' },
    { key: 't', type: 'text' },
  ])
  expect(items.at(-1)).toMatchObject({ fields: { n: 0.1234567 } })
})

test.each([
  ['Release', '1.10,1.1', 'text', '1.10'],
  ['Release', '1.0,2', 'text', '1.0'],
  ['Size', '3.0,0.5', 'number', 3],
  ['Size', '12.50,3.00', 'number', 12.5],
  ['Size', '10,1.5', 'number', 10],
  ['Fix Version/s', '1.0', 'text', '1.0'],
  ['appVersion', '2', 'text', '2'],
  ['Versions', 'true', 'text', 'true'],
  ['Conversion', '2', 'number', 2],
  ['field.version', '2,1.5', 'number', 2],
])('reads %s with %s as a %s', async (header, values, type, first) => {
  const rows = values.split(',').map((value) => `a,${value}\n`)
  const { items } = await read(`Title,${header}\n${rows.join('')}`)
  expect(items[0]).toMatchObject({ kind: 'field', type })
  expect(Object.values(tasksOf({ items })[0]!.fields!)).toEqual([first])
})

test('gives fields different keys, also for headers in other scripts', async () => {
  const { proposal } = await read('title,Größe,GRÖSSE!,2nd,優先,重要,Größe (m)\na,1,2,3,4,5,6\n')
  const keys = Object.values(proposal.columns!).slice(1)
  expect(keys.slice(0, 3)).toEqual(['field.gro_e', 'field.grosse', 'field.nd'])
  expect(keys[3]).toMatch(/^field\.f_[0-9a-f]{8}$/)
  expect(new Set(keys).size).toBe(6)
})

test('turns columns above the limit of 50 fields into notes', async () => {
  const names = Array.from({ length: 60 }, (_, i) => `c${i}`)
  const { items, proposal } = await read(
    `title,${names.join()}\na,${names.map((name) => `v${name}`).join()}\n`,
  )
  expect(items.filter(({ kind }) => kind === 'field')).toHaveLength(50)
  expect(items.at(-1)).toMatchObject({ notes: names.slice(50).map((name) => `${name}: v${name}`) })
  expect(proposal.columns).toMatchObject({ c49: 'field.c49', c50: 'notes' })
})

test('reads headers and names that are properties of every object', async () => {
  const file = 'title,constructor,__proto__,toString,status,priority\na,1,x,y,constructor,constructor\n'
  const { items, proposal } = await read(file)
  expect(items.at(-1)).toMatchObject({
    ...{ title: 'a', list: 'constructor', notes: ['priority: constructor'] },
    fields: { constructor: 1, proto: 'x', tostring: 'y' },
  })
  expect(Object.keys(proposal.columns!)).toEqual(file.split('\n')[0]!.split(','))
})

test('reports the names in mapping.columns that the file has no column for', async () => {
  const file = 'Title,Size\na,1\n'
  const mapping = { columns: { Title: 'title', Sise: 'field.size', size: null } }
  const { messages } = await reading(readers.csv!, file, { mapping })
  const message = 'The file has no column for these names in mapping.columns:'
  expect(messages).toEqual([`${message} "Sise", "size"`])
  const others = Object.fromEntries(upTo(12).map((n) => [`${n}`.repeat(60), null]))
  const { messages: many } = await reading(readers.csv!, file, { mapping: { columns: others } })
  expect(many[0]).toEndWith(`"${'9'.repeat(50)}", "${'10'.repeat(25)}", and 2 others`)
  const { proposal } = await reading(readers.csv!, 'title,\na,1\n')
  expect((await reading(readers.csv!, 'title,\na,1\n', { mapping: proposal })).messages).toEqual([])
})

test('reports the description of a Todoist section, which is not imported', async () => {
  const file =
    'TYPE,CONTENT,DESCRIPTION,PRIORITY,INDENT\nsection,Home,Around the house,,\ntask,Oil,,4,1\ntask,Buy,,4,1\n'
  const { items, messages } = await reading(readers.todoist!, file)
  expect(messages).toEqual(['Row 1: The description of the section was not imported: Around the house'])
  expect(tasksOf({ items })).toMatchObject([{ list: 'Home' }, { title: 'Buy', list: 'Home' }])
})

test('reads all cells of a Todoist file whose titles have unquoted commas', async () => {
  const file = `TYPE,CONTENT,PRIORITY,INDENT
task,Inventory: services, jobs, batch processes,1,1
section,Identity, Secrets,,
note,Look,,,extra
`
  const { items, messages } = await reading(readers.todoist!, file)
  expect(tasksOf({ items })).toMatchObject([
    {
      title: 'Inventory: services',
      notes: ['PRIORITY:  jobs', 'Without a header: 1', 'Without a header: 1', 'INDENT: batch processes'],
    },
  ])
  expect(messages.join('\n')).toContain('Row 2: PRIORITY:  Secrets')
  expect(messages.join('\n')).toContain('Row 3: Without a header: extra')
})

test('reads a plan of Microsoft Planner', async () => {
  const file =
    'Task ID,Task Name,Bucket Name,Progress,Assigned To,Checklist Items\np1,Draw,Mill,In progress,Ada;Bob Smith;Eve,one;two\n'
  const { items, proposal } = await reading(readCsv, file)
  expect(items).toEqual([
    {
      ...{ kind: 'task', row: 1, key: 'p1', title: 'Draw', list: 'In progress', labels: ['Mill'] },
      ...{ assignee: { name: 'Ada' }, notes: ['Also assigned: Bob Smith, Eve'] },
    },
    { kind: 'subtask', row: 1, task: 'p1', title: 'one', completed: false },
    { kind: 'subtask', row: 1, task: 'p1', title: 'two', completed: false },
  ])
  expect(proposal.columns).toMatchObject({ Progress: 'status' })
  expect(tasksOf(await reading(readCsv, 'Title,Progress\na,50%\n'))).toMatchObject([
    { fields: { progress: '50%' } },
  ])
})
