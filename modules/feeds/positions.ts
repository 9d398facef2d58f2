import { Kind, type Static, Type, TypeRegistry } from '@sinclair/typebox'
import { Input } from '../../src/schema/input.ts'
import { canonicalId } from '../../src/ids.ts'
import { sampleId } from '../../src/schema/answer.ts'
import { named } from '../../src/schema/named.ts'
import { badRequest } from '../../src/wire/refusals.ts'
import { mostSeconds, mostSeq } from '../events/parameters.ts'

const mostProjects = 1_000

const isSeq = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostSeq
TypeRegistry.Set('DocketPositions', (_schema, value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  return entries.length <= mostProjects && entries.every(([id, seq]) => id.length <= 100 && isSeq(seq))
})

/** The seq of the last event that is known of each project. */
export const Positions = (description: string) =>
  Type.Unsafe<Record<string, number>>({
    [Kind]: 'DocketPositions',
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0, maximum: mostSeq },
    maxProperties: mostProjects,
    description,
    examples: [{ [sampleId]: 41 }],
  })

export const ReadMany = named(
  'ReadEvents',
  Input({
    after: Positions(
      `An object of at most ${mostProjects} ids of projects, each with a seq: of the last event that is known of it, 0 for none`,
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 500,
        description: 'A whole number from 1 to 500: the most events in the answer, 100 unless told',
        examples: [100],
      }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: mostSeconds,
        description: `A whole number from 0 to ${mostSeconds}: the seconds to hold an answer that has nothing to tell`,
        examples: [0],
      }),
    ),
  }),
)

/** What is asked of many feeds at once. */
export interface AskedOfMany {
  /** As the caller wrote them, each once. */
  positions: { projectId: string; after: number }[]
  limit: number
  waitMs: number
}

/** @throws Refusal 400 */
export function readPositions({ after, limit = 100, wait = 0 }: Static<typeof ReadMany>): AskedOfMany {
  const seqs = new Map<string, number>()
  for (const [id, seq] of Object.entries(after)) {
    const projectId = canonicalId(id)
    if (seqs.has(projectId)) throw badRequest(`after.${projectId} is given more than once`)
    seqs.set(projectId, seq)
  }
  const positions = [...seqs].map(([projectId, after]) => ({ projectId, after }))
  return { positions, limit, waitMs: wait * 1_000 }
}

export const aheadIn = (projectId: string) =>
  badRequest(`after.${projectId} is ahead of the project: it has no such version`)
