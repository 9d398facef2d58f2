import { Type } from '@sinclair/typebox'
import { IdOf, IdsOf, Input } from '../../src/schema/input.ts'
import { named } from '../../src/schema/response.ts'
import { maxIds, Priority } from '../tasks/schema.ts'

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

export const ReleaseTask = Input({ id: IdOf('task') })
