import { Type } from '@sinclair/typebox'
import { isIdInAnyCase } from '../../../src/id-format.ts'
import { EventTypes as AnyEventTypes } from '../../events/parameters.ts'
import { ToolError } from '../tool.ts'

const optional = Type.Optional

export const TaskId = (description = 'The id of a task') =>
  Type.String({ minLength: 1, maxLength: 100, description })

/** In a path or a header, another text than an id could have another meaning. @throws ToolError 404 */
export function taskPath(id: string): string {
  if (isIdInAnyCase(id)) return `/tasks/${id}`
  throw new ToolError(404, 'Task not found', 'Pass the id of a task that find lists')
}

export const ProjectName = Type.String({ minLength: 1, description: 'The id or name of a project' })

export const UserName = (alternatives = 'id or me') =>
  optional(Type.String({ maxLength: 300, description: `A name, email, ${alternatives}` }))

export const LabelNames = (which: string) =>
  optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      ...{ minItems: 1, maxItems: 50 },
      description: `A list of names or ids: tasks with ${which} of these labels`,
    }),
  )

/** An optional whole number. */
export const Count = (minimum: number, maximum: number, description: string) =>
  optional(Type.Integer({ minimum, maximum, description: `A whole number${description}` }))
export const Range = (minimum: number, maximum: number, about: string) =>
  Count(minimum, maximum, ` from ${minimum} to ${maximum}: ${about}`)

/** A text that the header Idempotency-Key may contain. */
export const Key = (about: string) =>
  Type.String({ pattern: '^[ -~]{1,255}$', description: `A text of 1 to 255 ASCII characters: ${about}` })
export const ChangeKey = Key(
  'new for each change. After a lost answer or an error, call again with the same key: the change is done once',
)
export const RepeatKey = optional(Key('new for each call. A repeat with the same key gets the same answer'))

/** `next` of an answer whose pages begin at a number. */
export const NextNumber = optional(
  Type.String({
    pattern: '^[0-9]{1,15}$',
    description: 'A text, `next` of the previous answer: repeat the other arguments',
  }),
)

export const EventTypes = optional(
  Type.Unsafe<string>({
    ...AnyEventTypes(),
    description: 'A text of event types, such as task.created,task.deleted',
  }),
)

export const Flag = (about: string) => optional(Type.Boolean({ description: `true or false: ${about}` }))
export const DryRun = Flag('check only')
