import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { optionalText, parseInstant } from '../../src/schema/text.ts'
import { badRequest } from '../../src/wire/refusals.ts'
import type { TaskInput } from './schema.ts'

/** What callers set of a task. */
export type Editable = Omit<TaskRow, 'id' | 'projectId' | 'number' | 'createdAt' | 'updatedAt' | 'eventId'>

/** What a new task is where nothing is said. */
export const blank: Omit<Editable, 'title'> = {
  description: null,
  status: 'TODO',
  priority: 'MEDIUM',
  dueDate: null,
  assigneeId: null,
}

/** The fields of an input as they are stored; what is absent stays so. */
export function fieldsOf(input: Partial<Omit<TaskInput, 'id' | 'projectId'>>): Partial<Editable> {
  const fields: Partial<Editable> = { ...input }
  for (const key of Object.keys(fields) as (keyof Editable)[])
    if (fields[key] === undefined) delete fields[key]
  if (fields.title !== undefined) fields.title = fields.title.trim()
  if (fields.description !== undefined) fields.description = optionalText(fields.description)
  if (fields.dueDate) fields.dueDate = parseInstant(fields.dueDate)
  return fields
}

export const notAssignable = () => badRequest('assigneeId must be the owner or a member of the project')

/** @throws Refusal 400 */
export function requireAssignable(state: ProjectState, userId: string | null | undefined): void {
  if (typeof userId === 'string' && !state.roleOf(userId)) throw notAssignable()
}
