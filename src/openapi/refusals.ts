import { ErrorSchema } from '../schema/answer.ts'
import { type ErrorStatus, reasons, type Refusal } from '../wire/refusals.ts'
import { type HeaderName, headers, headersOf, referredTo } from './headers.ts'

/** The name of a general refusal's answer among the components. */
export const generalName = (status: ErrorStatus): string => reasons[status].replaceAll(' ', '')
export const generalAnswer = (status: ErrorStatus) => ({
  $ref: `#/components/responses/${generalName(status)}`,
})

/** The answer that has no body, as the caller has it. */
export const notModified = {
  description: 'Not Modified: the caller has this version',
  headers: referredTo(headersOf.notModified),
}

/** The answer of one status: the first refusal as its example, the others named beside it. */
export function refusalAnswer([first, ...others]: Refusal[]) {
  const { status, message } = first!
  const more = others.map((one) => one.message).join('; ')
  return {
    description: more ? `${reasons[status]}. Also: ${more}` : reasons[status],
    headers: referredTo([...headersOf.refusal, ...headersIn([first!, ...others])]),
    content: {
      'application/json': {
        schema: ErrorSchema,
        example: { statusCode: status, message, error: reasons[status] },
      },
    },
  }
}

/** The names of the refusals' own headers, as the document writes them. */
function headersIn(refusals: Refusal[]): HeaderName[] {
  const names = Object.keys(headers) as HeaderName[]
  return names.filter((name) => refusals.some((one) => name.toLowerCase() in one.headers))
}
