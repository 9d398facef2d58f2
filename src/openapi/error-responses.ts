import { ErrorSchema } from '../schema/response.ts'
import { type ErrorStatus, reasons, type HttpError } from '../responses/errors.ts'
import { type HeaderName, headers, headersOf, headerRefs } from './headers.ts'

const nameOf = (status: ErrorStatus): string => reasons[status].replaceAll(' ', '')
export const commonResponse = (status: ErrorStatus) => ({ $ref: `#/components/responses/${nameOf(status)}` })

export const notModified = {
  description: 'Not Modified: the caller has this version',
  headers: headerRefs(headersOf.notModified),
}

/** The responses that operations refer to by name. */
export const commonResponses = (general: HttpError[][]) => ({
  NotModified: notModified,
  ...Object.fromEntries(general.map((refusals) => [nameOf(refusals[0]!.status), answerOf(refusals)])),
})

/** The responses of errors, by status. */
export function errorResponses(refusals: HttpError[]) {
  const byStatus = [...Map.groupBy(refusals, ({ status }) => status)]
  return Object.fromEntries(byStatus.map(([status, some]) => [status, answerOf(some)]))
}

/** The first error as the example of its status, the others named beside it. */
function answerOf(refusals: HttpError[]) {
  const [{ status, message } = refusals[0]!, ...others] = refusals
  const also = others.length > 0 ? `. Also: ${others.map((one) => one.message).join('; ')}` : ''
  const names = Object.keys(headers) as HeaderName[]
  const own = names.filter((name) => refusals.some((one) => name.toLowerCase() in one.headers))
  const example = { statusCode: status, message, error: reasons[status] }
  return {
    description: reasons[status] + also,
    headers: headerRefs([...headersOf.error, ...own]),
    content: { 'application/json': { schema: ErrorSchema, example } },
  }
}
