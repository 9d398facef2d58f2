import type { ErrorDetails, HttpError } from '../../src/responses/errors.ts'
import { shortened } from './pages.ts'
import { operationFields, ToolError } from './tool.ts'

/** The arguments of a call that the advice after an error depends on. */
interface Sent {
  key?: string
  operations?: { op: string; [field: string]: unknown }[]
  ifVersion?: number
}

/** Returns an error of the API, with advice for the next step. @param sent the arguments of the tool */
export function errorOf({ status, message, headers, details }: HttpError, sent: Sent = {}): ToolError {
  const { code, missing, operation: _, field: __, current, ...shown } = details
  const withKey = sent.key === undefined ? '' : ' with the same key'
  const again = `Send the same call again${withKey}`
  if (status === 429 || status === 503) {
    const retryAfterSeconds = Number(headers['retry-after'] ?? 1)
    const advice =
      code === 'outcome-unknown' && sent.key === undefined ? readFirst : `${again} in ${retryAfterSeconds} s`
    return new ToolError(status, message, advice, { retryAfterSeconds })
  }
  if (status >= 500) return new ToolError(status, message, again)
  const place = placeOf(details, sent)
  const advice =
    (code && adviceByCode[code]?.(details, sent)) ??
    (missing && adviceByRow[missing.split(' ', 1)[0]!]) ??
    adviceByStatus[status] ??
    (place.operations && 'Use an operation that the description of apply lists') ??
    // The service stores no errors under a key, so a corrected call may use the same key.
    `Correct the arguments, then call again${withKey}`
  return new ToolError(status, message, advice, {
    ...place,
    ...shown,
    current: current && currentOf(current),
  })
}

const readFirst = 'Find out with find or history whether the call changed something, before you repeat it'

type Code = NonNullable<ErrorDetails['code']>

const adviceByCode: Partial<Record<Code, (details: ErrorDetails, sent: Sent) => string>> = {
  'role-needed': ({ needs }) => `Ask an ADMIN of the project, or its owner, for the role ${needs?.role}`,
  'scope-needed': ({ needs }) =>
    `Use an API token with the scope ${needs?.scope}; the owner of the account creates it with POST /tokens`,
  claimed: ({ until }) => `Work on another task (claim_next), or wait until ${until}`,
  'claim-ended': () =>
    'Stop this work, because another worker may have the task; claim_next returns a task to work on',
  'task-done': () => 'Work on another task: claim_next',
  'was-differs': () =>
    'Read the row with get, decide again, and send its current values in was, with the same key',
  'version-changed': ({ version = 0 }, { ifVersion = 0 }) =>
    `The project now has version ${version}. Read changes with after: ${Math.min(ifVersion, version)}, decide again, and call with ifVersion: ${version} and the same key`,
  'changed-since': ({ laterSeqs }) =>
    `Undo the later changes first: history shows seq ${laterSeqs?.join(', ')}`,
  'text-unmatched': () =>
    'Apply your change to the text in current (a text that ends with … is cut: read it with get), and call with ifMatch: current.etag in the operation and the same key; task.append adds to a description without ifMatch',
  'not-undoable': () => 'Change the rows with apply',
}

/** The maximum number of characters of a description in an answer that also contains a title and a sent value. */
const maxCurrentCharacters = 12_000

const currentOf = ({ description, ...current }: NonNullable<ErrorDetails['current']>) => ({
  ...current,
  description: description && shortened(description, maxCurrentCharacters),
})

const adviceByRow: Record<string, string> = {
  Project: 'Pass a project that `projects` lists',
  Batch: 'Pass the `batch` of an answer of apply or undo, or of an event in `history`',
  User: 'Ask the user to register first, then call again',
}

const adviceByStatus: Record<number, string> = {
  401: 'Use a valid Docket token',
  403: 'Ask an ADMIN of the project',
  404: 'Find the id with find or get; history shows whether the row was deleted',
  409: 'Read the rows with get or find, correct the call, and send it again',
  410: 'Start again from the current state: find lists the tasks',
  412: 'Read the row with get, decide again, and send the call with its current etag in ifMatch',
  413: 'Send fewer or shorter operations in each call, each with its own key',
  422: 'Use a new key, because another call used this key. To repeat the earlier call, send exactly its arguments',
}

const maxOpCharacters = 100
const maxValueCharacters = 2_000

/**
 * Returns the operation and the field at which a batch fails. If the sent name is unknown, `operations` or `fields` are the
 * names that exist.
 */
function placeOf({ operation, field = '', missing }: ErrorDetails, { operations = [] }: Sent) {
  const given = operation === undefined ? undefined : operations[operation]
  if (!given) return {}
  const op = given.op.slice(0, maxOpCharacters)
  const schemas = operationFields.get(op)
  if (!schemas) return { operation, op, operations: [...operationFields.keys()] }
  const fields = Object.keys(schemas)
  const fieldsOfId = missing ? [`${missing.toLowerCase()}Id`, 'email', 'id'] : [field]
  const name = fieldsOfId.find((one) => one in given && fields.includes(one))
  if (!name) return { operation, op, fields }
  const value = given[name]
  const isShort = JSON.stringify(value ?? null).length <= maxValueCharacters
  return { operation, op, field: name, value: isShort ? value : undefined }
}
