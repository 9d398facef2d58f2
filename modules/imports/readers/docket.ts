import { type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { EntityDefinition } from '../../../src/model/definition.ts'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import { model } from '../../../src/model/model.ts'
import { withoutNull } from '../../../src/schema/input.ts'
import { nameInFile } from '../../exports/cells.ts'
import { docketFormat } from '../../exports/formats.ts'
import { fieldTypes } from '../../fields/schema.ts'
import { headerOf, namedFields, taskFields } from '../../tasks/schema.ts'
import { DigestKeys } from '../convert/keys.ts'
import { ImportError, type ImportedItem, isChild } from '../items.ts'
import { type Open, type Reader, readText } from './file.ts'
import { Entry, parseObject } from './json-file.ts'

/** The longest comment takes about 120,000 characters as JSON. */
const maxLineCharacters = 1_048_576
const maxNumber = 1_000_000_000
const maxTasks = 1_000_000
/** The maximum number of unknown kinds of lines that the report names. */
const maxKinds = 20

/**
 * Reads an export with `format=docket`. An import begins after the last item, so nothing of a file that was cut is
 * imported. Lines of unknown kinds are reported.
 * @throws ImportError if the file is no export, or was cut
 */
export const readDocket: Reader = async function* ({ open, report }) {
  const moved = await movedTasks(readLines(open))
  const [keys, skipped] = [new DigestKeys(), new Set<string>()]
  let [n, after] = [0, '']
  let last: Entry | undefined
  for await (const line of readLines(open)) {
    const { kind, number } = line.value
    if (line.row === 0 && line.value.docket !== docketFormat)
      throw errorAt(0, `The file is not an export of Docket with format=docket in version ${docketFormat}`)
    if (last?.value.kind === 'end') throw errorAt(line.row, 'The file continues after its end')
    last = line
    const textEdits = line.get('project.textEdits') === 'if-match' ? 'if-match' : undefined
    const item = itemOf(line)
    if (line.row === 0) yield { kind: 'project', description: line.text('project.description'), textEdits }
    else if (!item && kind !== 'end')
      skipped.add(skipped.size < maxKinds ? String(kind).slice(0, 40) : 'others')
    if (!item) continue
    if (isChild(item)) item.csvKey = keys.ofChild(item)
    if (item.kind === 'task') {
      if (moved) Object.assign(item, { number, after: moved[n++] ? after : undefined })
      after = item.key
    }
    yield item
  }
  if (!last) throw new ImportError('The file is empty')
  if (last.value.kind !== 'end' || last.value.lines !== last.row + 1)
    throw errorAt(last.row, 'The file was cut: its last line is missing')
  if (skipped.size > 0) report(`Lines of these kinds are not imported: ${[...skipped].join(', ')}`)
}

/**
 * Returns which tasks were moved: tasks are created in the order of their numbers. Undefined if a number is missing, or
 * occurs twice.
 */
async function movedTasks(lines: AsyncIterable<Entry>): Promise<boolean[] | undefined> {
  const numbers: number[] = []
  for await (const { value } of lines)
    if (value.kind === 'task' && numbers.length <= maxTasks)
      numbers.push(isNumber(value.number) ? value.number : NaN)
  const isUnique = numbers.length <= maxTasks && new Set(numbers).size === numbers.length
  return isUnique && !numbers.includes(NaN) ? outOfOrder(numbers) : undefined
}

/** True for the numbers that are not in a longest increasing subsequence, so that as few tasks as possible are moved. */
function outOfOrder(numbers: number[]): boolean[] {
  /** For each length, the index of the smallest number that ends an increasing subsequence. */
  const ends: number[] = []
  const previous = numbers.map((number, i) => {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (numbers[ends[middle]!]! >= number) high = middle
      else low = middle + 1
    }
    ends[low] = i
    return ends[low - 1] ?? -1
  })
  const moved = numbers.map(() => true)
  for (let i = ends.at(-1) ?? -1; i >= 0; i = previous[i]!) moved[i] = false
  return moved
}

const isNumber = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= maxNumber

/** @param row the first line is the header, so rows count from the second line */
const errorAt = (row: number, message: string) => new ImportError(message, `line ${row + 1}`)

const Text = Type.String()
const Person = Type.Object({ name: Text, email: Type.Optional(Text) })

/** @param inItem the name in the item */
const lineField = (name: string, schema: TSchema, inItem: string) => ({
  ...{ name, inItem, check: TypeCompiler.Compile(schema) },
})
type LineField = ReturnType<typeof lineField>

const required = (name: string, inItem = name, schema: TSchema = Text): LineField =>
  lineField(name, schema, inItem)
const optional = (name: string, schema: TSchema, inItem = name): LineField =>
  lineField(name, Type.Union([schema, Type.Null(), Type.Undefined()]), inItem)
const origin = [optional('createdAt', Text), optional('author', Person), optional('importedAuthor', Text)]

/**
 * An item names each field by its CSV header. A line has the CSV header only for people, labels and `kind`, otherwise the
 * name of the field. Accepts texts that are too long and invalid times, because the conversion reports them.
 */
function taskLine(): LineField[] {
  const declared = taskFields.map(([name, { kind, reference, output, ...field }]) => {
    const inItem = headerOf(name, field)
    const isText = kind && ['text', 'name', 'instant'].includes(kind.is)
    const schema = kind?.is === 'user' ? Person : reference ? Type.Array(Text) : isText ? Text : output
    const isRenamed = (name as string) === 'kind' || namedFields.some(([one]) => one === name)
    return optional(isRenamed ? inItem : name, schema, inItem)
  })
  const values = Type.Record(Text, Type.Union([Text, Type.Number(), Type.Boolean()]))
  return [required('id', 'key'), required('title'), ...declared, optional('fields', values), ...origin]
}

function childLine({ asChild, references = {} }: EntityDefinition<ChildOfTask>): LineField[] {
  const { text, input } = asChild!
  const values = Object.entries<TSchema>(input.properties).flatMap(([name, schema]) => {
    if (name === 'id' || name === text || name in references) return []
    const [inItem, isText] = [nameInFile(name), withoutNull(schema).type === 'string']
    return optional(name === 'kind' ? inItem : name, isText ? Text : schema, inItem)
  })
  return [required('id', 'key'), required('taskId', 'task'), required(text), ...values, ...origin]
}

let kinds: ReadonlyMap<unknown, LineField[]> | undefined
const lineKinds = () =>
  (kinds ??= new Map([
    ['label', [required('name'), optional('color', Text), optional('createdAt', Text)]],
    [
      'field',
      [
        ...[required('key'), required('name'), optional('createdAt', Text)],
        required('type', 'type', Type.Union(fieldTypes.map((one) => Type.Literal(one)))),
        optional('options', Type.Array(Text)),
      ],
    ],
    ['task', taskLine()],
    ...model().ofTask.map((child): [string, LineField[]] => [child.name, childLine(child)]),
  ]))

/** Returns undefined for a line that is not imported. @throws ImportError for an invalid field */
function itemOf({ row, value: line }: Entry): ImportedItem | undefined {
  const { kind, importedAuthor } = line
  const fields = lineKinds().get(kind)
  if (!fields) return undefined
  const item: Record<string, unknown> = { kind, row }
  for (const { name, inItem, check } of fields) {
    const value = line[name]
    if (!check.Check(value)) throw errorAt(row, `The field ${name} of the ${String(kind)} is not valid`)
    if (value != null) item[inItem] = value
  }
  // The first author of a row that the exporting project had imported.
  if (importedAuthor) item.author = { name: importedAuthor }
  delete item.importedAuthor
  if (kind === 'task')
    Object.assign(item, { isExported: true, externalId: item.externalId ?? `docket:${item.key}` })
  return item as unknown as ImportedItem
}

/** Parses each line of the file as a JSON object. @throws ImportError for another line */
async function* readLines(open: Open): AsyncGenerator<Entry, void, void> {
  let [row, rest] = [0, '']
  for await (const text of readText(open)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) yield entryIn(line, row++)
    if (rest.length > maxLineCharacters) entryIn(rest, row)
  }
  if (rest !== '') yield entryIn(rest, row)
}

function entryIn(line: string, row: number): Entry {
  if (line.length > maxLineCharacters)
    throw errorAt(row, `A line must have at most ${maxLineCharacters} characters`)
  const value = parseObject(line)
  if (!value) throw errorAt(row, 'The line is not a JSON object')
  return new Entry('', '', value as Entry['value'], row)
}
