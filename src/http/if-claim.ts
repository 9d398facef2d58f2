import type { IfClaim } from '../commands/if-claim.ts'
import { canonicalId, isId } from '../id-format.ts'
import { badRequest } from '../responses/errors.ts'

const badIfClaim = () =>
  badRequest('Docket-If-Claim must be the id of a task and the seq of its claim, separated by a space')

/** Reads `Docket-If-Claim`. @throws HttpError 400 */
export function readIfClaim({ headers }: Request): IfClaim | undefined {
  const header = headers.get('docket-if-claim')
  if (header === null) return undefined
  const [, given = '', seq] = /^\s*(\S+)\s+(\d{1,15})\s*$/.exec(header) ?? []
  const taskId = canonicalId(given)
  if (!isId(taskId)) throw badIfClaim()
  return { taskId, seq: Number(seq) }
}
