import { Type } from '@sinclair/typebox'
import { OneOf } from '../schema/text.ts'

export const Flag = (name: string, about: string) => Type.Optional(OneOf(name, ['true', 'false'], about))

export const DryRun = Flag(
  'DryRun',
  'where `true`, all is decided and answered as if it were done, and nothing is done',
)
