import { ErrorSchema } from '../schema/response.ts'
import { errorBody, type ErrorStatus, reasons, type HttpError } from '../responses/errors.ts'
import { type HeaderName, headers, headersOf, headerRefs } from './headers.ts'

const nameOf = (status: ErrorStatus): string => reasons[status].replaceAll(' ', '')
export const commonResponse = (status: ErrorStatus) => ({ $ref: `#/components/responses/${nameOf(status)}` })

export const notModified = {
  description: 'Not Modified: the client already has this version',
  headers: headerRefs(headersOf.notModified),
}

export const commonResponses = (general: HttpError[][]) => ({
  NotModified: notModified,
  ...Object.fromEntries(general.map((errors) => [nameOf(errors[0]!.status), responseOf(errors)])),
})

export function errorResponses(errors: HttpError[]) {
  const byStatus = [...Map.groupBy(errors, ({ status }) => status)]
  return Object.fromEntries(byStatus.map(([status, group]) => [status, responseOf(group)]))
}

/** Documents all errors with one status as one response. The first is the example; the description lists the others. */
function responseOf(errors: HttpError[]) {
  const [first = errors[0]!, ...others] = errors
  const also = others.length > 0 ? `. Also: ${others.map((one) => one.message).join('; ')}` : ''
  const names = Object.keys(headers) as HeaderName[]
  const ownHeaders = names.filter((name) => errors.some((one) => name.toLowerCase() in one.headers))
  const example = errorBody(first)
  return {
    description: reasons[first.status] + also,
    headers: headerRefs([...headersOf.error, ...ownHeaders]),
    content: { 'application/json': { schema: ErrorSchema, example } },
  }
}
