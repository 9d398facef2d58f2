import type { FieldRow } from '../../../drizzle/rows.ts'
import type { EntityDefinition } from '../../../src/model/definition.ts'
import type { ChildOfTask, Entity } from '../../../src/model/entities.ts'
import { model } from '../../../src/model/model.ts'
import { headerOf, namedFields, taskFields } from '../../tasks/schema.ts'
import type { ProjectParts } from '../exported-project.ts'
import {
  childCell,
  type CellPerson,
  csvColumns,
  escapeFormula,
  fieldPrefix,
  linesCell,
  personCell,
} from '../cells.ts'
import { type ExportedTask, type Format, namedIn, type Writer } from './format.ts'

const byteOrderMark = '\ufeff'
const lineEnd = '\r\n'

/** RFC 4180. */
const quoted = (text: string): string =>
  /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

function cell(value: unknown): string {
  if (value == null) return ''
  return typeof value === 'string' ? quoted(escapeFormula(value)) : String(value)
}

const headers = taskFields.map((one) => headerOf(...one))
/** The columns of a task. Those of its children and of custom fields follow. */
const columns = [...csvColumns.slice(0, -2), ...headers.filter((header) => !csvColumns.includes(header))]
/** The fields whose ids have a column with another name. */
const renamed = taskFields.filter((one) => headerOf(...one) !== one[0] && !namedFields.includes(one))

/** Ids and names are one per line. */
const fieldCell = (value: unknown) =>
  Array.isArray(value)
    ? linesCell(value as string[])
    : typeof value === 'object' && value !== null
      ? personCell(value as CellPerson)
      : value

function cellsOf({ shown, author }: ExportedTask, parts: ProjectParts): string {
  const known = author && (parts.people.get(author.id) ?? author)
  const values: Record<string, unknown> = { ...shown, ...namedIn(shown, parts), author: known }
  for (const [name, field] of renamed) values[headerOf(name, field)] = shown[name]
  return columns.map((header) => cell(fieldCell(values[header]))).join()
}

const fieldCells = (fields: FieldRow[], { shown }: ExportedTask): string =>
  fields.map(({ key }) => `,${cell(shown.fields[key])}`).join('')

type Shown = Record<string, unknown>

/** A task for each row, for spreadsheets. */
export const csv: Format = {
  contentType: 'text/csv; charset=utf-8',
  extension: 'csv',
  hasAuthors: true,
  open(_, parts): Writer {
    const { fields, people } = parts
    const children = new Map(model().ofTask.map((one) => [one.name as Entity, one]))
    const lists = model().ofTask.map(({ plural }) => plural)
    const personOf = (id: string) => people.get(id)
    const authorOf = ({ person }: EntityDefinition<ChildOfTask>, shown: Shown): CellPerson | null =>
      shown.importedAuthor
        ? { name: String(shown.importedAuthor) }
        : (personOf(String(person && shown[person])) ?? (shown.author as CellPerson | null) ?? null)
    let rest = ''
    let separator = ''
    return {
      begin: () =>
        byteOrderMark +
        [...columns, ...lists, ...fields.map(({ key }) => fieldPrefix + key)].join() +
        lineEnd,
      task(task) {
        rest = fieldCells(fields, task) + lineEnd
        return cellsOf(task, parts)
      },
      beginChildren() {
        separator = ''
        return ',"'
      },
      child(entity, shown) {
        const definition = children.get(entity)!
        const cell = definition.asChild!.cell?.(shown as never, personOf)
        const text = cell ?? childCell(definition, shown as Shown, authorOf(definition, shown as Shown))
        const more = separator + (separator === '' ? escapeFormula(text) : text).replaceAll('"', '""')
        separator = '\n'
        return more
      },
      endChildren: () => '"',
      endTask: () => rest,
      end: () => '',
    }
  },
}
