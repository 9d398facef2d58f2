import { type TSchema, Type } from '@sinclair/typebox'
import { Body, IdOf, IdsOf, Input, Text, WholeNumber } from '../../src/schema/input.ts'
import { named } from '../../src/schema/response.ts'
import { maxAttempts, maxIds, Priority, taskView } from '../tasks/schema.ts'

const claimLasts = 'how many seconds the claim lasts, unless its holder extends it'
const LeaseSeconds = WholeNumber(10, 86_400, claimLasts, 300)

export const ClaimTask = Input({ id: IdOf('task'), leaseSeconds: LeaseSeconds })
const labelIds = (which: string) => {
  const ids = IdsOf('labels', maxIds)
  return Type.Optional({ ...ids, description: `${ids.description}: ${which} of these labels` })
}

/** Example bodies omit a field of the format int64. */
const omittedInExamples = <T extends TSchema>(schema: T) => Type.Optional({ ...schema, format: 'int64' })

const filter = {
  labels: labelIds('the task has all'),
  anyLabel: labelIds('the task has at least one'),
  priority: Type.Optional(Priority),
  assigneeId: Type.Optional(IdOf('user')),
  maxAttempts: omittedInExamples(
    WholeNumber(1, maxAttempts, 'skips the tasks that have had this many attempts', 3),
  ),
}
export const ClaimNextTask = Input({ projectId: IdOf('project'), leaseSeconds: LeaseSeconds, ...filter })

export const maxWaitSeconds = 25
export const ClaimNextBody = named(
  'ClaimNextTask',
  Input({
    leaseSeconds: LeaseSeconds,
    ...filter,
    wait: omittedInExamples(
      WholeNumber(1, maxWaitSeconds, 'how many seconds the request waits until a task is ready', 20),
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
