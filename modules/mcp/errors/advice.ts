import { keyReused } from '../../../src/commit/idempotency.ts'
import { claimEnded } from '../../../src/commands/if-claim.ts'
import { outcomeUnknown } from '../../../src/responses/errors.ts'
import { type ApiResponse, ToolError } from '../tool.ts'
import { nearest } from '../../../src/schema/nearest.ts'
import { operationFields } from '../tools/operations.ts'

/** The arguments of a call that the advice depends on. */
export interface Sent {
  key?: string
  operations?: unknown[]
}

interface Advice {
  advice: string
  details?: object
}

type Rule = [pattern: RegExp | string, advise: (match: string[], sent: Sent) => Advice | string]

/** Returns the error of a response, with advice for the next step. */
export function errorOf({ status, headers, body }: ApiResponse, sent: Sent = {}): ToolError {
  const { message } = body as { message: string }
  const details = operationDetails(message, sent.operations)
  const again =
    sent.key === undefined ? 'Send the same call again' : 'Send the same call again with the same key'
  if (status === 429 || status === 503) {
    const retryAfterSeconds = Number(headers.get('retry-after') ?? 1)
    if (sent.key === undefined && message === outcomeUnknown().message)
      return new ToolError(status, message, readFirst, { retryAfterSeconds })
    return new ToolError(status, message, `${again} in ${retryAfterSeconds} s`, { retryAfterSeconds })
  }
  if (status >= 500) return new ToolError(status, message, again)
  const given = ruleFor(status, message.replace(/^operations\[\d+\]: /, ''), sent)
  const { advice, details: more } = typeof given === 'string' ? { advice: given, details: {} } : given
  return new ToolError(status, message, advice, { ...details, ...more })
}

const readFirst = 'Find out with find or history whether the call changed something, before you repeat it'

function ruleFor(status: number, text: string, sent: Sent): Advice | string {
  for (const [pattern, advise] of rules[status] ?? []) {
    const match = typeof pattern === 'string' ? pattern === text && [text] : pattern.exec(text)
    if (match) return advise(match, sent)
  }
  return fallback[status] ?? corrected(sent)
}

/** The service stores no errors under a key, so a corrected call may use the same key. */
const corrected = ({ key }: Sent) =>
  key === undefined
    ? 'Correct the arguments, then call again'
    : 'Correct the arguments, then call again with the same key'

const rules: Record<number, Rule[]> = {
  400: [
    [/^op must be the name of a command/, () => 'Use an operation that the description of apply lists'],
    [
      /or the #name of an earlier operation$/,
      () => 'Pass an id, or # and the `as` of an operation that is earlier in the list',
    ],
    [/^cursor must be/, () => 'Pass the `next` of the previous answer, or begin without next'],
    [/^q must/, () => 'Correct text, then call again'],
    [/^after is ahead/, () => 'Pass the `after` of the previous answer, or the `version` of find'],
    [/is not known here/, (_, sent) => `Use only the fields that the operation has. ${corrected(sent)}`],
  ],
  403: [
    [
      /the role (\w+)/,
      ([, role]) => ({
        advice: `Ask an ADMIN of the project, or its owner, for the role ${role}`,
        details: { needs: { role } },
      }),
    ],
    [
      /the scope (\w+)/,
      ([, scope]) => ({
        advice: `Use an API token with the scope ${scope}; the owner of the account creates it with POST /tokens`,
        details: { needs: { scope } },
      }),
    ],
  ],
  404: [
    [/^Project/, () => 'Pass a project that `projects` lists'],
    [/^Batch/, () => 'Pass the `batch` of an answer of apply or undo, or of an event in `history`'],
    [/^User/, () => 'Ask the user to register first, then call again'],
  ],
  409: [
    [
      /^(.*) holds a claim on the task until (.*)$/s,
      ([, holder, until]) => ({
        advice: `Work on another task (claim_next), or wait until ${until}`,
        details: { holder, until },
      }),
    ],
    [
      /since by seq ([\d, ]+)$/,
      ([, seqs]) => ({
        advice: `Undo the later changes first: history shows seq ${seqs}`,
        details: { laterSeqs: seqs!.split(', ').map(Number) },
      }),
    ],
    [
      /differs from "was"/,
      (_, sent) => `Read the row with get, decide again, and send its current values in was${sameKey(sent)}`,
    ],
    [/^A task that is DONE/, () => 'Work on another task: claim_next'],
    [/^No task is ready/, () => 'Call claim_next with wait: 25, or apply without task.claim_next'],
    [/^An undo can take back|^The undo is too large|cannot be undone/, () => 'Change the rows with apply'],
  ],
  412: [
    [
      claimEnded().message,
      () => 'Stop this work, because another worker may have the task; claim_next returns a task to work on',
    ],
  ],
  422: [
    [
      keyReused().message,
      () =>
        'Use a new key, because another call used this key. To repeat the earlier call, send exactly its arguments',
    ],
  ],
}

const sameKey = ({ key }: Sent) => (key === undefined ? '' : ', with the same key')

const fallback: Record<number, string> = {
  401: 'Use a valid Docket token',
  403: 'Ask an ADMIN of the project',
  404: 'Find the id with find or get; history shows whether the row was deleted',
  409: 'Read the rows with get or find, correct the call, and send it again',
  410: 'Start again from the current state: find lists the tasks',
  412: 'Read the row with get, decide again, and send the call without the old ETag',
  413: 'Send fewer or shorter operations in each call, each with its own key',
}

/** Returns details of a batch error: the operation that failed, and the field or reference that is wrong. */
function operationDetails(message: string, operations: unknown[] = []): object {
  const [, n, text = ''] = /^operations\[(\d+)\]: (.*)$/s.exec(message) ?? []
  if (n === undefined) return {}
  const operation = (operations[Number(n)] ?? {}) as Record<string, unknown>
  const op = String(operation.op).slice(0, maxOpCharacters)
  const fields = operationFields.get(op)?.map(({ name }) => name)
  const position = { operation: Number(n), op }
  if (!fields) return { ...position, operations: [...operationFields.keys()] }
  if (text.includes('is not known here')) return { ...position, fields }
  const field = fieldIn(text, op, operation)
  if (field === undefined) return position
  const earlier = operations.slice(0, Number(n)).flatMap((one) => (one as { as?: string } | null)?.as ?? [])
  const values = [operation[field]].flat()
  const unknown = values.find((value) => isReference(value) && !earlier.includes(value.slice(1)))
  const suggestion = isReference(unknown) ? nearest(unknown.slice(1), earlier) : undefined
  return {
    ...{ ...position, field, value: shown(unknown ?? operation[field]) },
    ...(suggestion !== undefined && { didYouMean: `#${suggestion}` }),
  }
}

const maxOpCharacters = 100
const maxShown = 2_000
const shown = (value: unknown) => (JSON.stringify(value ?? null).length <= maxShown ? value : undefined)

const isReference = (value: unknown): value is string => typeof value === 'string' && value.startsWith('#')

/** Returns the field that an error begins with. For `Task not found`, returns the field with the task's id. */
function fieldIn(text: string, op: string, operation: Record<string, unknown>): string | undefined {
  const [first = ''] = text.split(/[ .]/, 1)
  if (first in operation) return first
  const noun = /^(\w+) not found$/.exec(text)?.[1]?.toLowerCase()
  if (noun === undefined) return undefined
  if (noun === 'user') return 'email'
  return `${noun}Id` in operation ? `${noun}Id` : op.startsWith(`${noun}.`) ? 'id' : undefined
}
