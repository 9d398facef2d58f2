import { Type } from '@sinclair/typebox'
import { IdOf, IdsOf, Input } from '../../src/schema/input.ts'
import { named } from '../../src/schema/named.ts'
import { maxIds, Priority } from '../tasks/schema.ts'

export const LeaseSeconds = Type.Integer({
  minimum: 10,
  maximum: 86_400,
  description: 'How long the claim lasts, unless its holder extends it',
  examples: [300],
})

export const ClaimTask = Input({ id: IdOf('task'), leaseSeconds: LeaseSeconds })
const labelIds = (which: string) =>
  Type.Optional({ ...IdsOf('labels', maxIds), description: `${which} of these labels` })

const filter = {
  labels: labelIds('The task has all'),
  anyLabel: labelIds('The task has at least one'),
  priority: Type.Optional(Priority),
  assigneeId: Type.Optional(IdOf('user')),
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
        description: 'How many seconds the request waits until a task is ready',
        examples: [20],
      }),
    ),
  }),
)

export const ReleaseTask = Input({ id: IdOf('task') })
