import type { ErrorDetails } from '../../src/responses/errors.ts'
import { nearest } from '../../src/schema/nearest.ts'
import { type ApiResponse, type Sent, ToolError } from './tool.ts'
import { operationFields } from './tools/operations.ts'

/** Returns the error of a response, with advice for the next step. */
export function errorOf({ status, headers, body, details = {} }: ApiResponse, sent: Sent = {}): ToolError {
  const { message } = body as { message: string }
  const { code, missing, operation: _, ...shown } = details
  const withKey = sent.key === undefined ? '' : ' with the same key'
  if (status === 429 || status === 503) {
    const retryAfterSeconds = Number(headers.get('retry-after') ?? 1)
    const again = `Send the same call again${withKey} in ${retryAfterSeconds} s`
    const advice = code === 'outcome-unknown' && sent.key === undefined ? readFirst : again
    return new ToolError(status, message, advice, { retryAfterSeconds })
  }
  if (status >= 500) return new ToolError(status, message, `Send the same call again${withKey}`)
  const place = operationDetails(message, details, sent)
  // The service stores no errors under a key, so a corrected call may use the same key.
  const advice =
    (code && adviceOf(code, details, sent)) ??
    (missing && missingRows[missing]) ??
    byStatus[status] ??
    adviceFor(place) ??
    `Correct the arguments, then call again${withKey}`
  return new ToolError(status, message, advice, { ...place, ...shown })
}

const readFirst = 'Find out with find or history whether the call changed something, before you repeat it'

function adviceOf(
  code: ErrorDetails['code'],
  { needs, until, laterSeqs, version = 0 }: ErrorDetails,
  { ifVersion = 0 }: Sent,
) {
  switch (code) {
    case 'role-needed':
      return `Ask an ADMIN of the project, or its owner, for the role ${needs?.role}`
    case 'scope-needed':
      return `Use an API token with the scope ${needs?.scope}; the owner of the account creates it with POST /tokens`
    case 'claimed':
      return `Work on another task (claim_next), or wait until ${until}`
    case 'claim-ended':
      return 'Stop this work, because another worker may have the task; claim_next returns a task to work on'
    case 'task-done':
      return 'Work on another task: claim_next'
    case 'was-differs':
      return 'Read the row with get, decide again, and send its current values in was, with the same key'
    case 'version-changed':
      return `The project now has version ${version}. Read changes with after: ${Math.min(ifVersion, version)}, decide again, and call with ifVersion: ${version} and the same key`
    case 'changed-since':
      return `Undo the later changes first: history shows seq ${laterSeqs?.join(', ')}`
    case 'not-undoable':
      return 'Change the rows with apply'
    default:
      return undefined
  }
}

const missingRows: Record<string, string> = {
  Project: 'Pass a project that `projects` lists',
  Batch: 'Pass the `batch` of an answer of apply or undo, or of an event in `history`',
  User: 'Ask the user to register first, then call again',
}

const byStatus: Record<number, string> = {
  401: 'Use a valid Docket token',
  403: 'Ask an ADMIN of the project',
  404: 'Find the id with find or get; history shows whether the row was deleted',
  409: 'Read the rows with get or find, correct the call, and send it again',
  410: 'Start again from the current state: find lists the tasks',
  412: 'Read the row with get, decide again, and send the call without the old ETag',
  413: 'Send fewer or shorter operations in each call, each with its own key',
  422: 'Use a new key, because another call used this key. To repeat the earlier call, send exactly its arguments',
}

function adviceFor({ operations, value }: Place): string | undefined {
  if (operations) return 'Use an operation that the description of apply lists'
  return isReference(value)
    ? 'Pass an id, or # and the `as` of an operation that is earlier in the list'
    : undefined
}

/** Where a batch fails. `operations` and `fields` are the names that exist, if the sent name is unknown. */
interface Place {
  operation?: number
  op?: string
  operations?: string[]
  fields?: string[]
  field?: string
  value?: unknown
  didYouMean?: string
}

const maxOpCharacters = 100
const maxShown = 2_000

function operationDetails(message: string, { operation: n, missing }: ErrorDetails, sent: Sent): Place {
  if (n === undefined || !sent.operations) return {}
  const given = (sent.operations[n] ?? {}) as Record<string, unknown>
  const op = String(given.op).slice(0, maxOpCharacters)
  const fields = operationFields.get(op)?.map(({ name }) => name)
  const position = { operation: n, op }
  if (!fields) return { ...position, operations: [...operationFields.keys()] }
  const field = missing ? fieldOf(missing.toLowerCase(), op, given) : firstWord(message)
  if (!field || !(field in given) || !fields.includes(field)) return { ...position, fields }
  const earlier = sent.operations.slice(0, n).flatMap((one) => (one as { as?: string } | null)?.as ?? [])
  const unknown = [given[field]]
    .flat()
    .find((value) => isReference(value) && !earlier.includes(value.slice(1)))
  const suggestion = isReference(unknown) ? nearest(unknown.slice(1), earlier) : undefined
  const value = unknown ?? given[field]
  return {
    ...{ ...position, field },
    ...(JSON.stringify(value ?? null).length <= maxShown && { value }),
    ...(suggestion !== undefined && { didYouMean: `#${suggestion}` }),
  }
}

const isReference = (value: unknown): value is string => typeof value === 'string' && value.startsWith('#')

/** Messages about a field begin with its path: `operations[0]: labelIds.2 must be`. */
const firstWord = (message: string) => /^operations\[\d+\]: (\w+)/.exec(message)?.[1]

/** Returns the field that holds the id of the missing row. */
function fieldOf(noun: string, op: string, given: object): string | undefined {
  if (noun === 'user') return 'email'
  return `${noun}Id` in given ? `${noun}Id` : op.startsWith(`${noun}.`) ? 'id' : undefined
}
