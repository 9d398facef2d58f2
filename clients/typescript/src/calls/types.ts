import type { components, operations } from '../api.ts'

export type OperationName = keyof operations

type Simplified<T> = { [K in keyof T]: T[K] }

/** The names in braces of a route: `projectId` of `GET /projects/{projectId}/labels`. */
type NamesIn<Route extends string> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

export type IdsIn<Route extends string, Except extends string = never> = {
  [Name in Exclude<NamesIn<Route>, Except>]: string
}

/** The JSON body of an operation; an empty object if it has none. */
export type BodyOf<Name extends OperationName> = operations[Name] extends {
  requestBody?: { content: { 'application/json': infer Body } }
}
  ? Body
  : object

/** The parts of the form of an operation besides the file. A boolean and an object are sent as texts. */
export type FormOf<Name extends OperationName> = operations[Name] extends {
  requestBody?: { content: { 'multipart/form-data': infer Form } }
}
  ? { [Part in keyof Omit<Form, 'file'>]: FormValue<Part, Form[Part & keyof Form]> }
  : object

type FormValue<Part, Value> = Part extends 'mapping'
  ? components['schemas']['ImportMapping'] | undefined
  : Value extends 'true' | 'false' | undefined
    ? boolean | Value
    : Value

type ContentOf<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : undefined
type Responses<Name extends OperationName> = operations[Name]['responses']

/** The body of a successful response; undefined for 204. */
export type ResultOf<Name extends OperationName> = {
  [Status in keyof Responses<Name>]: ContentOf<Responses<Name>[Status]>
}[keyof Responses<Name>]

export type RowOf<Name extends OperationName> = ResultOf<Name> extends (infer Row)[] ? Row : never

type ParametersOf<Name extends OperationName> = operations[Name]['parameters']
type RawQueryOf<Name extends OperationName> =
  ParametersOf<Name> extends { query?: infer Query } ? NonNullable<Query> : object

/** Filters that also accept an array, which is sent with commas. */
type ListName = 'labels' | 'anyLabel' | 'types'

type QueryValue<Key, Value> = Key extends 'asOf'
  ? string | number
  : Key extends `field.${string}`
    ? string | number | boolean | undefined
    : Key extends ListName
      ? Value | readonly string[]
      : Value extends 'true'
        ? true | 'true'
        : Value extends 'true' | 'false'
          ? boolean | Value
          : Value

export type QueryOf<Name extends OperationName> = {
  [Key in keyof RawQueryOf<Name>]: QueryValue<Key, RawQueryOf<Name>[Key]>
}

/** A type that extends every type without required fields. `object` does not extend types with an index signature. */
type Empty = Record<never, never>

/** The last parameters of a call: its input, which may be omitted if it has no required field, and its options. */
export type Arguments<Input, Options> = Empty extends Input
  ? [input?: Simplified<Input>, options?: Options]
  : [input: Simplified<Input>, options?: Options]
