import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { defaultsOf } from '../../src/model/fields.ts'
import { optionalText, parseInstant } from '../../src/schema/text.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { fields, type TaskInput } from './schema.ts'

export type Editable = Omit<TaskRow, 'id' | 'projectId' | 'number' | 'createdAt' | 'updatedAt' | 'eventId'>

export const defaults: Omit<Editable, 'title'> = defaultsOf(fields)

export function fieldsOf(input: Partial<Omit<TaskInput, 'id' | 'projectId'>>): Partial<Editable> {
  const wanted: Partial<Editable> = { ...input }
  for (const key of Object.keys(wanted) as (keyof Editable)[])
    if (wanted[key] === undefined) delete wanted[key]
  if (wanted.title !== undefined) wanted.title = wanted.title.trim()
  if (wanted.description !== undefined) wanted.description = optionalText(wanted.description)
  if (wanted.externalId) wanted.externalId = wanted.externalId.trim()
  if (wanted.dueDate) wanted.dueDate = parseInstant(wanted.dueDate)
  if (wanted.remindAt) wanted.remindAt = parseInstant(wanted.remindAt)
  return wanted
}

export const notAssignable = () => badRequest('assigneeId must be the owner or a member of the project')

export function requireAssignable(state: ProjectState, userId: string | null | undefined): void {
  if (typeof userId === 'string' && !state.roleOf(userId)) throw notAssignable()
}
