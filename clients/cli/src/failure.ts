/** The exit codes of every command. `claim-next --exec` exits with the code of its command. */
export const exitCodes = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  conflict: 5,
  unavailable: 6,
} as const

/** An error that ends the command with one line on standard error. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly exitCode: number = exitCodes.error,
  ) {
    super(message)
  }
}

export const usageError = (message: string) => new Failure(message, exitCodes.usage)
export const notFound = (message: string) => new Failure(message, exitCodes.notFound)

const codeOfStatus: Record<number, number> = {
  401: exitCodes.notAllowed,
  403: exitCodes.notAllowed,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
  412: exitCodes.conflict,
  422: exitCodes.conflict,
  428: exitCodes.conflict,
  0: exitCodes.unavailable,
  429: exitCodes.unavailable,
}

/** @param status of the response; 0 if there was no response */
export const exitCodeOf = (status: number): number =>
  codeOfStatus[status] ?? (status >= 500 ? exitCodes.unavailable : exitCodes.error)
