import { getTableConfig, PgDialect } from 'drizzle-orm/pg-core'
import { getTableColumns, SQL } from 'drizzle-orm'
import { tasks } from '../../drizzle/schema/tasks.ts'
import { model, read } from '../kit.ts'
import { taskFields } from '../../modules/tasks/schema.ts'
import { fieldsAndCommand, tag, workLog } from './edits.ts'

const guide = read('CONTRIBUTING.md').text

test('README and CONTRIBUTING need no commands except node and npm', () => {
  for (const path of ['README.md', 'CONTRIBUTING.md']) expect(read(path).text).not.toContain('bunx')
})

test('CONTRIBUTING names every file that must change to add a field or a command to tasks', () => {
  const section = guide.slice(guide.indexOf('To add a field to a task'), guide.indexOf('## A new entity'))
  const paths = fieldsAndCommand.edits.map(({ path }) => path)
  expect(paths.filter((path) => !section.includes(path))).toEqual([])
  expect(paths.filter((path) => !/^(modules\/tasks\/|drizzle\/schema\/tasks\.ts$)/.test(path))).toEqual([])
})

test('a new child entity of tasks and a new entity that tasks refer to each need at most six files and four edits', () => {
  for (const { files, edits } of [tag, workLog]) {
    const migrations = 1
    expect(Object.keys(files!).length + migrations).toBeLessThanOrEqual(6)
    expect(edits.length).toBeLessThanOrEqual(4)
  }
})

const typeOf: Record<string, string> = {
  ...{ text: 'text', name: 'text', choice: 'text', instant: 'timestamp(3) with time zone' },
  ...{ wholeNumber: 'integer', boolean: 'boolean', user: 'uuid' },
}
const dialect = new PgDialect()

test('each field of a task has a column of the type of its kind, and an index if lists are sorted by the field', () => {
  const { columns, indexes } = getTableConfig(tasks)
  const keys = indexes.flatMap(({ config }) =>
    config.columns.flatMap((one) => (one instanceof SQL ? dialect.sqlToQuery(one).sql : [])),
  )
  for (const [name, { kind, sortedWith }] of taskFields) {
    const column = columns.find((one) => one === tasks[name])!
    if (kind) expect([name, column.getSQLType()]).toEqual([name, typeOf[kind.is]!])
    if (sortedWith) expect(keys).toContain(kind!.key!.sql(column.name))
  }
})

test('a child of tasks stores and shows each field that its commands set', () => {
  for (const { name, table, view, asChild } of model.ofTask) {
    const [stored, shown] = [getTableColumns(table), view.schema.properties]
    const fields = Object.keys(asChild!.input.properties)
    expect([name, fields.filter((one) => !(one in stored && one in shown))]).toEqual([name, []])
  }
})

test('each column of tasks is a field that clients can set, or one of these', () => {
  const others =
    'id projectId number title createdAt updatedAt eventId fields position claimedBy claimedUntil claimSeq importedAuthor attempts dueAfter'
  const known = [...others.split(' '), ...taskFields.map(([name]) => name)]
  expect(Object.keys(getTableColumns(tasks)).filter((name) => !known.includes(name))).toEqual([])
})
