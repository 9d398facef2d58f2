import { Type } from '@sinclair/typebox'
import { IdOf, Input } from '../../src/schema/input.ts'

export const LeaseSeconds = Type.Integer({
  minimum: 10,
  maximum: 86_400,
  description: 'How long the claim lasts, unless its holder extends it',
  examples: [300],
})

export const ClaimTask = Input({ id: IdOf('task'), leaseSeconds: LeaseSeconds })
export const ReleaseTask = Input({ id: IdOf('task') })
