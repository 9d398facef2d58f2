import { Type } from '@sinclair/typebox'
import { EventTypes as AnyEventTypes } from '../../events/parameters.ts'
import { ClaimNextBody } from '../../work-queue/schema.ts'
import { isIdInAnyCase } from '../../../src/id-format.ts'
import { ToolError } from '../tool.ts'

const optional = Type.Optional

export const TaskId = (description = 'The id of a task') =>
  Type.String({ minLength: 1, maxLength: 100, description })

export const ProjectName = Type.String({ minLength: 1, description: 'The id or name of a project' })

export const UserName = optional(Type.String({ maxLength: 300, description: 'A name, email, id or me' }))

export const LabelNames = (which: string) =>
  optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      minItems: 1,
      maxItems: 50,
      description: `A list of names or ids: tasks with ${which} of these labels`,
    }),
  )

export const Count = (minimum: number, maximum: number, description: string) =>
  optional(Type.Integer({ minimum, maximum, description }))

/** In a path or a header, another text than an id could have another meaning. @throws ToolError 404 */
export function taskPath(id: string): string {
  if (isIdInAnyCase(id)) return `/tasks/${id}`
  throw new ToolError(404, 'Task not found', 'Pass the id of a task that find lists')
}

/** The characters that the header Idempotency-Key may contain. */
const pattern = '^[ -~]{1,255}$'

export const Key = Type.String({
  pattern,
  description:
    'A text of 1 to 255 ASCII characters: new for each change. After a lost answer or an error, call again with the same key: the change is done once',
})

export const RepeatKey = optional(
  Type.String({
    pattern,
    description:
      'A text of 1 to 255 ASCII characters: new for each call. A repeat with the same key gets the same answer',
  }),
)

export const EventTypes = optional(
  Type.Unsafe<string>({
    ...AnyEventTypes(),
    description: 'A text of event types, such as task.created,task.deleted',
  }),
)

const { minimum, maximum } = ClaimNextBody.properties.leaseSeconds
export const maxLeaseSeconds = maximum!
export const leaseRange = `A whole number of seconds from ${minimum} to ${maximum}`

export const Flag = (description: string) =>
  optional(Type.Boolean({ description: `true or false: ${description}` }))
export const DryRun = Flag('check only')
