import { Type } from '@sinclair/typebox'
import { OneOf } from '../schema/text.ts'

/** Asks what would come of a command. */
export const DryRun = Type.Optional(
  OneOf(
    'DryRun',
    ['true', 'false'],
    'where `true`, all is decided and answered as if it were done, and nothing is done',
  ),
)
