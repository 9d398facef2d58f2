import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Value } from '@sinclair/typebox/value'
import type { EntityDefinition } from '../../../src/model/definition.ts'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import { model } from '../../../src/model/model.ts'
import { csvColumns, nameInFile } from '../../exports/cells.ts'
import { docketFormat } from '../../exports/formats.ts'
import { fieldTypes } from '../../fields/schema.ts'
import { headerOf, namedFields, taskFields } from '../../tasks/schema.ts'
import { withoutNull } from '../../../src/schema/text.ts'
import { DigestKeys } from '../convert/keys.ts'
import { isBlank } from '../convert/texts.ts'
import { ImportError, type ImportedItem, isChild, type ProjectItem } from '../items.ts'
import { parseObject } from '../parse-object.ts'
import { readText } from './csv/text.ts'
import type { Reader, ReaderInput } from './reader.ts'

/** The longest comment takes about 120,000 characters as JSON. */
const maxLineCharacters = 1_048_576
const maxPeople = 10_000
const maxNumber = 1_000_000_000
const maxTasks = 1_000_000
/** The maximum number of unknown kinds of lines that the report names. */
const maxKinds = 20

/**
 * Reads an export with `format=docket`. The first of two passes checks that the file is complete, before anything is
 * imported.
 */
export const readDocket: Reader = async function* ({ open, report }) {
  const moved = await checkFile(jsonLines(open), report)
  const [addresses, keys] = [new Map<unknown, string>(), new DigestKeys()]
  let [n, after] = [0, '']
  for await (const line of jsonLines(open)) {
    collectAddress(addresses, line.value)
    if (line.number === 1) yield* projectIn(line.value.project)
    const item = itemOf(line)
    if (!item) continue
    addAddress(addresses, item, line.value)
    if (isChild(item)) item.csvKey = keys.ofChild(item)
    if (item.kind === 'task') {
      if (moved) Object.assign(item, { number: Number(line.value.number), ...(moved[n++] && { after }) })
      after = item.key
    }
    yield item
  }
}

function* projectIn(project: unknown): Generator<ProjectItem> {
  const [description, textEdits] = [partOf(project, 'description'), partOf(project, 'textEdits')]
  if (typeof description === 'string' && !isBlank(description)) yield { kind: 'project', row: 0, description }
  if (textEdits === 'if-match') yield { kind: 'project', row: 0, textEdits }
}

interface Line {
  /** From 1. */
  number: number
  value: Record<string, unknown>
}

/**
 * Reports the lines that are not imported. Returns which tasks were moved: tasks are created in the order of their
 * numbers. Undefined if a number is missing, or occurs twice.
 * @throws ImportError if the file is no export, or was cut
 */
async function checkFile(
  lines: AsyncIterable<Line>,
  report: (message: string) => void,
): Promise<boolean[] | undefined> {
  const skipped = new Map<string, number>()
  const numbers: number[] = []
  let last: Line | undefined
  for await (const line of lines) {
    const { number, value } = line
    if (number === 1) checkFirstLine(value)
    else if (last?.value.kind === 'end')
      throw new ImportError('The file continues after its end', `line ${number}`)
    else if (value.kind !== 'end' && !lineKinds().has(value.kind)) countKind(skipped, String(value.kind))
    if (value.kind === 'task' && numbers.length <= maxTasks)
      numbers.push(isNumber(value.number) ? value.number : NaN)
    last = line
  }
  if (!last) throw new ImportError('The file is empty')
  if (last.value.kind !== 'end' || last.value.lines !== last.number)
    throw new ImportError('The file was cut: its last line is missing', `line ${last.number}`)
  const counts = [...skipped].map(([kind, count]) => `${kind} (${count})`)
  if (counts.length > 0) report(`Lines of these kinds are not imported: ${counts.join(', ')}`)
  const sorted = Float64Array.from(numbers).sort()
  // `sort` puts NaN last.
  const isMissing = numbers.length > maxTasks || Number.isNaN(sorted.at(-1))
  return isMissing || sorted.some((number, i) => number === sorted[i + 1]) ? undefined : outOfOrder(numbers)
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

function countKind(counts: Map<string, number>, kind: string): void {
  const known = kind.slice(0, 40)
  const name = counts.has(known) || counts.size < maxKinds ? known : 'others'
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function checkFirstLine({ docket }: Line['value']): void {
  if (docket === undefined)
    throw new ImportError('The file is not an export of Docket with format=docket', 'line 1')
  if (docket !== docketFormat)
    throw new ImportError(
      `The file has the version ${String(docket).slice(0, 20)} of the format; this service reads version ${docketFormat}`,
      'line 1',
    )
}

const partOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** Collects the email addresses of the owner and the members. Their lines are before the tasks. */
function collectAddress(byId: Map<unknown, string>, { docket, kind, project, user }: Line['value']): void {
  const person: unknown = docket ? partOf(project, 'owner') : kind === 'member' ? user : undefined
  const [id, email] = [partOf(person, 'id'), partOf(person, 'email')]
  if (typeof email === 'string' && byId.size < maxPeople) byId.set(id, email)
}

function addAddress(
  byId: ReadonlyMap<unknown, string>,
  item: ImportedItem,
  { author, importedAuthor }: Line['value'],
): void {
  const email = importedAuthor ? undefined : byId.get(partOf(author, 'id'))
  if (email && 'author' in item && item.author) item.author = { email, ...item.author }
}

const Text = Type.String()
const OptionalText = Type.Optional(Type.Union([Text, Type.Null()]))
const Texts = Type.Optional(Type.Array(Text))
const Person = Type.Optional(
  Type.Union([Type.Object({ name: Text, email: Type.Optional(Text) }), Type.Null()]),
)
const origin = { createdAt: OptionalText, author: Person, importedAuthor: OptionalText }

interface LineKind {
  /** The fields of a line, with their names in items. */
  names: [field: string, inItem: string][]
  check: TypeCheck<TObject>
}
const kindOf = (schemas: Record<string, TSchema>, itemNames: Record<string, string> = {}): LineKind => ({
  names: Object.keys(schemas).map((name) => [name, itemNames[name] ?? name]),
  check: TypeCompiler.Compile(Type.Object(schemas)),
})

/** Too long texts and invalid times are accepted, because the conversion reports them. */
function schemaIn({ kind, reference, output }: (typeof taskFields)[number][1]): TSchema {
  if (kind?.is === 'user') return Person
  if (reference) return Texts
  return kind && ['text', 'name', 'instant'].includes(kind.is) ? OptionalText : Type.Optional(output)
}

/**
 * Items name a field by its CSV header. A line has the same names only for people and labels, whose fields contain
 * names in place of ids.
 */
function taskLine(): LineKind {
  const named = new Set(namedFields.map(([name]) => name))
  const declared = taskFields.map(([name, field]) => {
    const header = headerOf(name, field)
    const isRenamed = named.has(name) || (name as string) === 'kind'
    return { name: isRenamed ? header : name, header, schema: schemaIn(field) }
  })
  const values = Type.Record(Text, Type.Union([Text, Type.Number(), Type.Boolean()]))
  const schemas = Object.fromEntries(declared.map(({ name, schema }) => [name, schema]))
  return kindOf(
    { id: Text, title: Text, ...schemas, fields: Type.Optional(values), ...origin },
    { id: 'key', ...Object.fromEntries(declared.map(({ name, header }) => [name, header])) },
  )
}

function childLine({ asChild, references = {} }: EntityDefinition<ChildOfTask>): LineKind {
  const { text, input } = asChild!
  const values = Object.entries<TSchema>(input.properties).flatMap(([name, schema]) =>
    name === 'id' || name === text || name in references
      ? []
      : [[name === 'kind' ? nameInFile(name) : name, orAbsent(schema)] as const],
  )
  const schemas = { id: Text, taskId: Text, [text]: Text, ...Object.fromEntries(values), ...origin }
  const itemNames = Object.fromEntries(values.map(([name]) => [name, nameInFile(name)]))
  return kindOf(schemas, { ...itemNames, id: 'key', taskId: 'task' })
}
const orAbsent = (schema: TSchema): TSchema =>
  withoutNull(schema).type === 'string' ? OptionalText : Type.Optional(Type.Union([schema, Type.Null()]))

let kinds: ReadonlyMap<unknown, LineKind> | undefined
const lineKinds = () =>
  (kinds ??= new Map([
    ['label', kindOf({ name: Text, color: OptionalText, createdAt: OptionalText })],
    [
      'field',
      kindOf({
        ...{ key: Text, name: Text, createdAt: OptionalText },
        type: Type.Union(fieldTypes.map((one) => Type.Literal(one))),
        options: Type.Optional(Type.Union([Type.Array(Text), Type.Null()])),
      }),
    ],
    ['task', taskLine()],
    ...model().ofTask.map((child): [string, LineKind] => [child.name, childLine(child)]),
  ]))

/** Returns undefined for a line that is not imported. @throws ImportError for an invalid field */
function itemOf({ number, value }: Line): ImportedItem | undefined {
  const { kind } = value
  const { check, names } = lineKinds().get(kind) ?? {}
  if (!check || !names) return undefined
  if (!check.Check(value)) {
    const field = check.Errors(value).First()?.path.slice(1) ?? ''
    throw new ImportError(`The field ${field} of the ${String(kind)} is not valid`, `line ${number}`)
  }
  // The first line is the header, so rows count from the second.
  const item: Record<string, unknown> = { kind, row: number - 1 }
  const isKept = kind === 'task' ? isLater : isClearable(kind as ChildOfTask)
  for (const [name, inItem] of names)
    if (value[name] != null || (value[name] === null && isKept(inItem))) item[inItem] = value[name]
  // The first author of a row that the exporting project had imported.
  const { importedAuthor, ...rest } = item
  if (importedAuthor) rest.author = { name: importedAuthor }
  if (kind === 'task')
    Object.assign(rest, { isExported: true, externalId: rest.externalId ?? `docket:${rest.key}` })
  return rest as unknown as ImportedItem
}

/** Returns the test for fields of a child that accept null. */
function isClearable(kind: ChildOfTask): (name: string) => boolean {
  const { properties = {} } = model().ofTask.find(({ name }) => name === kind)?.asChild!.input ?? {}
  return (name) =>
    Object.entries(properties).some(([one, schema]) => nameInFile(one) === name && Value.Check(schema, null))
}

/** Files of earlier releases do not have such a field of tasks. If a file has the field, null is an empty value. */
const isLater = (header: string) =>
  !csvColumns.includes(header) && taskFields.some((one) => headerOf(...one) === header)

/** Parses each line of the file as a JSON object. @throws ImportError for another line */
async function* jsonLines(open: ReaderInput['open']): AsyncGenerator<Line, void, void> {
  let [number, rest] = [0, '']
  for await (const text of readText(open)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) yield parsed(++number, line)
    if (rest.length > maxLineCharacters) throw tooLong(number + 1)
  }
  if (rest !== '') yield parsed(number + 1, rest)
}

const tooLong = (number: number) =>
  new ImportError(`A line must have at most ${maxLineCharacters} characters`, `line ${number}`)

function parsed(number: number, text: string): Line {
  if (text.length > maxLineCharacters) throw tooLong(number)
  const value = parseObject(text)
  if (!value) throw new ImportError('The line is not a JSON object', `line ${number}`)
  return { number, value }
}
