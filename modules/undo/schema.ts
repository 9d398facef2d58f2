import { Type } from '@sinclair/typebox'
import { checked, IdOf, Input } from '../../src/schema/input.ts'
import { maxUndoneEvents } from '../../src/log/undo-limits.ts'
import { DryRun } from '../../src/batch/dry-run.ts'

function isSeqs(value: unknown): boolean {
  const isList = Array.isArray(value) && value.length >= 1 && value.length <= maxUndoneEvents
  return isList && value.every(isSeq) && new Set(value).size === value.length
}
const isSeq = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1

const Seqs = checked<number[]>(isSeqs, {
  type: 'array',
  minItems: 1,
  maxItems: maxUndoneEvents,
  uniqueItems: true,
  items: { type: 'integer', minimum: 1 },
  description: `A list of 1 to ${maxUndoneEvents} different seqs of events`,
  examples: [[42, 43]],
})

const Seq = (description: string, example: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description, examples: [example] }),
  )

const fields = {
  id: IdOf('project'),
  dryRun: DryRun,
  seq: Seq('A whole number, the seq of an event', 42),
  batch: Seq('A whole number, the value of batch in the events', 41),
  seqs: Type.Optional(Seqs),
}
export const UndoProject = { ...Input(fields), examples: [{ seq: 42 }] }
