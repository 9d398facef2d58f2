import { type TSchema, Type } from '@sinclair/typebox'
import { accountIdOf, isId } from '../../src/id-format.ts'
import type { Field } from '../../src/model/fields.ts'
import { badRequest } from '../../src/responses/errors.ts'
import {
  checked,
  caseless,
  Instant,
  nameFrom,
  optionalText,
  parseInstant,
  withoutNull,
} from '../../src/schema/input.ts'

/** How values of a field are sorted and compared. Tasks without a value are last. */
export interface SortKey {
  /** The SQL type of the key. */
  type: 'timestamptz' | 'float8'
  /** The index of the list must contain exactly this expression. */
  sql(column: string): string
  /**
   * The operators of a lower and an upper bound, and the values that stand for missing bounds. The key of a task
   * without a value is within no bounds, not even within these values.
   */
  bounds: { from: '>' | '>='; to: '<' | '<='; lowest: string; highest: string }
  /** Accepts only the form that cursors contain, because Postgres may read another form as another value. */
  isPart(part: string): boolean
}

/** The properties that all fields of one type share. */
export interface Kind {
  /** The name of the kind in the OpenAPI document. */
  is: 'text' | 'name' | 'choice' | 'instant' | 'wholeNumber' | 'boolean' | 'user'
  /** The query parameter of a filter; by default the input of the field. */
  parameter?(input: TSchema): TSchema
  /** Returns the value that a parameter selects. @param name of the parameter @throws HttpError 400 */
  read(text: string, name: string, callerId: string): unknown
  /** Returns the value of a cell in a file; undefined if the text has none. @param input the schema of values */
  fromText?(text: string, input: TSchema): unknown
  /** Returns the stored form of an input. */
  stored?(value: never): unknown
  key?: SortKey
}

const trim = (value: string) => value.trim()

export const text: Kind = { is: 'text', read: trim, stored: optionalText, fromText: trim }
/** A text in one line, which is never empty. */
export const name: Kind = { is: 'name', read: trim, stored: trim, fromText: nameFrom }

const wordsIn = (value: string) => caseless(value).replace(/[^\p{L}\p{N}]+/gu, '')
export const choice: Kind = {
  is: 'choice',
  read: (value) => value,
  fromText: (value, { enum: values = [] }) =>
    (values as string[]).find((one) => wordsIn(one) === wordsIn(value)),
}

export const instant: Kind = {
  is: 'instant',
  parameter: Instant,
  read: parseInstant,
  stored: parseInstant,
  key: {
    type: 'timestamptz',
    sql: (column) => `coalesce(${column}, 'infinity')`,
    bounds: { from: '>', to: '<', lowest: '-infinity', highest: 'infinity' },
    isPart: (part) => parseInstant(part) === part,
  },
}

const isText = (value: unknown, pattern: RegExp) => typeof value === 'string' && pattern.test(value.trim())

const WHOLE = /^-?\d{1,15}$/
export const wholeNumber: Kind = {
  is: 'wholeNumber',
  parameter: () =>
    checked<string>((value) => isText(value, WHOLE), {
      ...{ type: 'integer', description: 'A whole number', examples: [3] },
    }),
  read: Number,
  fromText: (value) => (isText(value, WHOLE) ? Number(value) : undefined),
  key: {
    type: 'float8',
    sql: (column) => `coalesce(${column}::float8, 'infinity')`,
    bounds: { from: '>=', to: '<=', lowest: '-infinity', highest: String(Number.MAX_VALUE) },
    isPart: (part) => WHOLE.test(part) && String(Number(part)) === part,
  },
}

const BOOLEAN = /^(true|false)$/
export const boolean: Kind = {
  is: 'boolean',
  parameter: () =>
    checked<string>((value) => isText(value, BOOLEAN), {
      ...{ type: 'boolean', description: 'True or false', examples: [true] },
    }),
  read: (value) => value.trim() === 'true',
  fromText(value) {
    const word = value.trim().toLowerCase()
    return /^(true|yes|y|x|1)$/.test(word) || (/^(false|no|n|0)$/.test(word) ? false : undefined)
  },
}

export const badUser = (parameter: string) => badRequest(`${parameter} must be the id of a user, or "me"`)
export const user: Kind = {
  is: 'user',
  parameter: () =>
    Type.String({ maxLength: 100, description: 'The id of a user, or "me"', examples: ['me'] }),
  read(given, parameter, callerId) {
    const id = accountIdOf(given, callerId)
    if (!isId(id)) throw badUser(parameter)
    return id
  },
}

/** The filters and orders of lists by a field of a task. */
export interface ListUses {
  filter?: {
    /**
     * A parameter with the name of the field selects one value. `sorted`: the indexes of all orders contain the column.
     * `own`: an index of its own finds few tasks. `none`: a page checks each of at most 2,000 tasks of a project.
     */
    index?: 'sorted' | 'own' | 'none'
    /** The names of the parameters for a lower and an upper bound. */
    bounds?: [from: string, to: string]
    /** Replaces the parameter of the kind. */
    parameter?: TSchema
    needsProject?: true
  }
  /**
   * Lists can be sorted by the field. `status`: its index begins with the project, status and priority; `assignee`: a
   * second index also contains the assignee.
   */
  sortedWith?: 'status' | 'assignee'
}

/** How files, agents and clients show a field of a task. */
export interface ShownUses {
  /**
   * The header of the column in CSV files, by default the name of the field. Required for a name that other parts of a
   * task have in files, such as `notes` or `kind`. In a line of a `docket` file, a field with this name has the people or
   * the names of labels.
   */
  header?: string
  /** Plain headers of the field in CSV files of other systems, the most certain first: see `plain` of the import. */
  otherHeaders?: string
  /**
   * `lines`: the lists of agents and of the command line show the field in each line. `preview`: the previews of
   * agents show the field. Default: only the full lists of agents show the field.
   */
  lists?: 'lines' | 'preview'
  /** Searches find the words of the field. Only for texts. */
  isSearched?: true
  /** The option of the command line, by default the header with hyphens. */
  option?: string
}

export interface TaskField<Input extends TSchema = TSchema, Value = unknown>
  extends Field<Input, Value>, ListUses, ShownUses {
  kind: Kind
}

/** A field with a filter or an order has a kind; a field that refers to rows has a reference in place of a kind. */
export type AnyField = Field & ListUses & ShownUses & { kind?: Kind }

export const parameterOf = ({ kind, input, filter }: AnyField): TSchema =>
  filter?.parameter ?? kind?.parameter?.(input) ?? withoutNull(input)

export const taskField = <Input extends TSchema, Value>(field: TaskField<Input, Value>) => field
