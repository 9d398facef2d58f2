import { Kind, type Static, Type, TypeRegistry } from '@sinclair/typebox'
import { Input } from '../../src/schema/input.ts'
import { canonicalId, isId } from '../../src/ids.ts'
import { Cursor, isIdPart, Limit, readCursor, readLimit } from '../../src/reads/pages.ts'
import type { Entity } from '../../src/model/entities.ts'
import { Instant, isCount, parseInstant } from '../../src/schema/text.ts'
import { costOfLooking } from '../events/pages.ts'
import { EventTypes } from '../events/parameters.ts'
import { model } from '../modules.ts'

const isEntity = (text: string): text is Entity => (model.names as string[]).includes(text)
const isSomeId = (value: unknown) => typeof value === 'string' && isId(canonicalId(value))

TypeRegistry.Set('DocketEntity', (_schema, value) => isEntity(value as string) || isSomeId(value))
TypeRegistry.Set('DocketUserId', (_schema, value) => isSomeId(value))

const Only = (kind: string, description: string, example: string) =>
  Type.Optional(Type.Unsafe<string>({ [Kind]: kind, type: 'string', description, examples: [example] }))

export const TaskHistoryQuery = Input({ limit: Limit(50, 200), cursor: Cursor() })

export const ProjectHistoryQuery = Input({
  entity: Only(
    'DocketEntity',
    `${model.names.join(', ')}, or the id of one: what the events are about`,
    'task',
  ),
  actor: Only('DocketUserId', 'The id of the user who did it', '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'),
  type: EventTypes(),
  from: Type.Optional(Instant()),
  to: Type.Optional(Instant()),
  limit: Limit(50, 200),
  cursor: Cursor(),
})

/** What is asked of a project's history, before a seq. What is null is not asked for. */
export interface Wanted {
  before: number | null
  limit: number
  entity: Entity | null
  entityId: string | null
  actorId: string | null
  types: string[] | null
  from: string | null
  to: string | null
}

/** @throws Refusal 400 */
export function readWanted({ entity, type, ...query }: Static<typeof ProjectHistoryQuery>): Wanted {
  const isKind = entity !== undefined && isEntity(entity)
  const [before = null] = query.cursor === undefined ? [] : readCursor(query.cursor, [isCount])
  return {
    before: before === null ? null : Number(before),
    limit: readLimit(query.limit, 50, 200),
    entity: isKind ? entity : null,
    entityId: entity === undefined || isKind ? null : canonicalId(entity),
    actorId: query.actor === undefined ? null : canonicalId(query.actor),
    types: type?.split(',') ?? null,
    from: instant(query.from),
    to: instant(query.to),
  }
}

/** In plain reads: what is filtered is looked through. */
export const costOf = ({ entity, entityId, actorId, types }: Wanted, version: number): number =>
  entity || entityId || actorId || types ? costOfLooking(version) : 1

/** @throws Refusal 400 */
export function readTaskPage(query: Static<typeof TaskHistoryQuery>) {
  const [before = null] = query.cursor === undefined ? [] : readCursor(query.cursor, [isIdPart])
  return { before, limit: readLimit(query.limit, 50, 200) }
}

const instant = (text?: string) => (text === undefined ? null : parseInstant(text))
