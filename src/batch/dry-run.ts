import { Type } from '@sinclair/typebox'
import { OneOf } from '../schema/text.ts'

export const Flag = (name: string, about: string) => Type.Optional(OneOf(name, ['true', 'false'], about))

export const DryRun = Flag(
  'DryRun',
  '`true` returns the result that the request would have, and changes nothing',
)
