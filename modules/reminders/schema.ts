import { Type } from '@sinclair/typebox'
import { IdOf, Input } from '../../src/schema/input.ts'

export const RecordTimes = Input({ projectId: IdOf('project'), ids: Type.Array(IdOf('task')) })
