import { HttpError } from '../responses/errors.ts'

export const operationError = (n: number, error: HttpError): HttpError =>
  withPrefix(`operations[${n}]`, error)

export const withPrefix = (name: string, { status, message, headers, details }: HttpError): HttpError =>
  new HttpError(status, `${name}: ${message}`, headers, details)

export const mapInOrder = <T, R>(
  all: T[],
  map: (one: T, n: number) => R,
  prefix: (n: number, error: HttpError) => HttpError = operationError,
): R[] =>
  all.map((one, n) => {
    try {
      return map(one, n)
    } catch (error) {
      throw error instanceof HttpError ? prefix(n, error) : error
    }
  })
