import { Type } from '@sinclair/typebox'

export const ProjectName = Type.String({ minLength: 1, description: 'Id or name' })

/** The characters that the header Idempotency-Key may contain. */
const pattern = '^[ -~]{1,255}$'

export const Key = Type.String({
  pattern,
  description:
    'A new text for each change, 1 to 255 ASCII characters: after a lost answer or an error, call again with the same key, and it is done once',
})

export const RepeatKey = Type.Optional(
  Type.String({
    pattern,
    description: 'A new text for each call: a repeat with the same key gets the same answer',
  }),
)

export const EventTypes = Type.Optional(
  Type.String({ maxLength: 1_000, description: 'Such as task.created,task.deleted' }),
)

export const leaseRange = 'A number of seconds from 10 to 86400'
