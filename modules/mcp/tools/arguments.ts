import { Type } from '@sinclair/typebox'
import { EventTypes as AnyEventTypes } from '../../events/parameters.ts'
import { ClaimNextBody } from '../../work-queue/schema.ts'
import { isIdInAnyCase } from '../../../src/id-format.ts'
import { ToolError } from '../tool.ts'

export const TaskId = (description: string) => Type.String({ minLength: 1, maxLength: 100, description })

/** In a path or a header, another text than an id could have another meaning. @throws ToolError 404 */
export function taskPath(id: string): string {
  if (isIdInAnyCase(id)) return `/tasks/${id}`
  throw new ToolError(404, 'Task not found', 'Pass the id of a task that find lists')
}

export const ProjectName = Type.String({ minLength: 1, description: 'Id or name of a project' })

/** The characters that the header Idempotency-Key may contain. */
const pattern = '^[ -~]{1,255}$'

export const Key = Type.String({
  pattern,
  description:
    'A new text for each change, 1 to 255 ASCII characters. After a lost answer or an error, call again with the same key: the change is done once',
})

export const RepeatKey = Type.Optional(
  Type.String({
    pattern,
    description: 'A new text for each call. A repeat with the same key gets the same answer',
  }),
)

export const EventTypes = Type.Optional(
  Type.Unsafe<string>({ ...AnyEventTypes(), description: 'Event types, such as task.created,task.deleted' }),
)

const { minimum, maximum } = ClaimNextBody.properties.leaseSeconds
export const maxLeaseSeconds = maximum!
export const leaseRange = `A number of seconds from ${minimum} to ${maximum}`

export const DryRun = Type.Optional(Type.Boolean({ description: 'Check only' }))
