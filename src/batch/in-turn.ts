import { Refusal } from '../wire/refusals.ts'

/** The refusal of one of many, saying of which. */
export const ofOperation = (n: number, { status, message, headers }: Refusal): Refusal =>
  new Refusal(status, `operations[${n}]: ${message}`, headers)

/** Does one after another, until one is refused. */
export const inTurn = <T, R>(all: T[], work: (one: T, n: number) => R): R[] =>
  all.map((one, n) => {
    try {
      return work(one, n)
    } catch (error) {
      throw error instanceof Refusal ? ofOperation(n, error) : error
    }
  })
