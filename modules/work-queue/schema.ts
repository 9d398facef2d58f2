import { Type } from '@sinclair/typebox'
import { Body, IdOf, IdsOf, Input, Text } from '../../src/schema/input.ts'
import { named } from '../../src/schema/response.ts'
import { maxAttempts, maxIds, Priority, taskView } from '../tasks/schema.ts'

const LeaseSeconds = Type.Integer({
  minimum: 10,
  maximum: 86_400,
  description:
    'A whole number of seconds from 10 to 86400: how long the claim lasts, unless its holder extends it',
  examples: [300],
})

export const ClaimTask = Input({ id: IdOf('task'), leaseSeconds: LeaseSeconds })
const labelIds = (which: string) => {
  const ids = IdsOf('labels', maxIds)
  return Type.Optional({ ...ids, description: `${ids.description}: ${which} of these labels` })
}

const filter = {
  labels: labelIds('the task has all'),
  anyLabel: labelIds('the task has at least one'),
  priority: Type.Optional(Priority),
  assigneeId: Type.Optional(IdOf('user')),
  maxAttempts: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxAttempts,
      format: 'int64',
      description: `A whole number from 1 to ${maxAttempts}: skips the tasks that have had this many attempts`,
      examples: [3],
    }),
  ),
}
export const ClaimNextTask = Input({ projectId: IdOf('project'), leaseSeconds: LeaseSeconds, ...filter })

export const maxWaitSeconds = 25
export const ClaimNextBody = named(
  'ClaimNextTask',
  Input({
    leaseSeconds: LeaseSeconds,
    ...filter,
    wait: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxWaitSeconds,
        format: 'int64',
        description:
          'A whole number of seconds from 1 to 25: how long the request waits until a task is ready',
        examples: [20],
      }),
    ),
  }),
)

/** `eventId` is the event after which the task had no open blocker. */
const Unblocked = Type.Object({ id: IdOf('task'), eventId: IdOf('event') })
export const RecordReady = Input({ projectId: IdOf('project'), tasks: Type.Array(Unblocked) })

const outcome = {
  failed: Type.Optional(
    Type.Boolean({ description: 'True or false: true counts the claim in `attempts` of the task' }),
  ),
  reason: Type.Optional(Text(0, 2_000, 'The mould has a crack')),
}
export const ReleaseTask = Input({ id: IdOf('task'), ...outcome })
export const ReleaseTaskBody = named('ReleaseTask', { ...Body(outcome, taskView.schema), default: {} })
