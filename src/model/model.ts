import { type Column, columnsOf } from '../postgres/columns.ts'
import { editNames } from './fields.ts'
import type { EntityDefinition, Reference, UndoRule } from './definition.ts'
import type { ChildOfTask, Entity, EventType, Rows } from './entities.ts'
import type { EventDraft } from './events.ts'

export interface ReferenceField extends Reference {
  name: string
  column: Column
  isMany: boolean
  /** The inputs that add and remove ids of a list. */
  edits: readonly [add: string, remove: string]
}

type ByName<T> = Record<Entity, T>

function describe(all: EntityDefinition[]) {
  const byName = <T>(of: (one: EntityDefinition) => T) =>
    Object.fromEntries(all.map((one) => [one.name, of(one)])) as ByName<T>
  const references = byName(referencesIn)
  const allReferences = Object.values(references).flat()
  const extras = byName(({ name, optionalColumns = [] }) => [
    ...new Set([...optionalColumns, ...references[name].map((field) => field.name)]),
  ])
  return {
    /** In the order of the OpenAPI document. */
    all,
    entities: byName((one) => one) as unknown as { [E in Entity]: EntityDefinition<E> },
    names: all.map(({ name }) => name),
    byRow: all.flatMap(({ name, load }) => (load === 'by row' ? name : [])),
    ofTask: all.filter(({ parent }) => parent === 'task') as unknown as EntityDefinition<ChildOfTask>[],
    eventTypes: all.flatMap(({ name, events }) =>
      Object.keys(events).map((verb) => `${name}.${verb}` as EventType),
    ),
    references,
    /** Optional columns and references. */
    extras,
    targets: new Set(allReferences.map(({ to }) => to)),
    /** Entities whose rows decide which values of other rows are shown. */
    keyed: new Set(allReferences.flatMap(({ to, values }) => (values ? to : []))),
    /** The values of rows of earlier releases in newer columns: the default, else null. */
    defaults: byName(({ table, optionalColumns = [], unlogged = [] }) => {
      const isAdded = ({ key, fallback, hasDefault, isNullable }: Column) =>
        fallback !== undefined ||
        (isNullable && !hasDefault && !optionalColumns.includes(key) && !unlogged.includes(key))
      const added = columnsOf(table).filter(isAdded)
      return Object.fromEntries(added.map(({ key, fallback = null }) => [key, fallback as unknown]))
    }),
    texts: byName(({ table }) => columnsOf(table).flatMap(({ key, type }) => (isLong(type) ? key : []))),
  }
}

export type Model = ReturnType<typeof describe>
let current: Model | undefined

type Missing<All extends readonly { name: Entity }[]> = Exclude<Entity, All[number]['name']>

/** Defines the entities of the service. A list that lacks an entity does not compile. */
export const defineModel = <const All extends readonly { name: Entity }[]>(
  list: All,
  ..._missing: Missing<All> extends never ? [] : [Missing<All>]
): Model => (current = describe(list as readonly object[] as EntityDefinition[]))

function referencesIn({ references = {}, table }: EntityDefinition): ReferenceField[] {
  const columns = columnsOf(table)
  return Object.entries(references).map(([name, reference]) => {
    const column = columns.find(({ key }) => key === name)!
    return { ...reference, name, column, isMany: column.type !== 'uuid', edits: editNames(name) }
  })
}

const isLong = (type: string): boolean => type === 'text' || type === 'jsonb' || type.endsWith('[]')

/** @throws Error if no entity is defined yet: see modules/modules.ts */
export function model(): Model {
  if (!current) throw new Error('No entity is defined: modules/modules.ts is not loaded')
  return current
}

export const definitionOf = <E extends Entity>(name: E): EntityDefinition<E> => model().entities[name]

/** True if the row has no value in an optional column and refers to no row. Responses then show it as it is. */
export function isPlainRow(entity: Entity, row: object): boolean {
  for (const name of model().extras[entity] ?? [])
    if ((row as Record<string, unknown>)[name] != null) return false
  return true
}

export const titleOf = (entity: Entity): string =>
  entity.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Returns the row as it is after an event, or null after a deletion. Other data in `after` is left out. */
export function rowAfter<E extends Entity>({ type, after }: Pick<EventDraft<E>, 'type' | 'after'>) {
  if (!after || (type !== 'task.moved_in' && type !== 'task.released' && type !== 'webhook.updated'))
    return after
  const row = { ...after } as Record<string, unknown>
  for (const { plural } of model().ofTask) delete row[plural]
  delete row.changed
  delete row.outcome
  return row as unknown as Rows[E]
}

export function personIdOf(entity: Entity, row: object): string | null {
  const { person } = definitionOf(entity)
  return person === undefined ? null : ((row as Record<string, string | null>)[person] ?? null)
}

export function undoRuleOf(type: EventType): UndoRule {
  const [entity, verb] = type.split('.') as [Entity, string]
  return definitionOf(entity).events[verb]!
}

export function textLength(entity: Entity, row: object): number {
  let length = 0
  for (const name of model().texts[entity]) {
    const value = (row as Record<string, unknown>)[name]
    if (typeof value === 'string') length += value.length
    else if (value) length += JSON.stringify(value).length
  }
  return length
}

export function textLengthSql(entity: Entity, measure: 'char_length' | 'octet_length'): string {
  const long = columnsOf(definitionOf(entity).table).filter(({ key }) => model().texts[entity].includes(key))
  return ['0', ...long.map(({ name }) => `coalesce(${measure}(${name}::text), 0)`)].join(' + ')
}
