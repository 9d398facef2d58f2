import { tooManyRequests, unavailable } from '../responses/errors.ts'

interface Bounds {
  /** The name of the operations in messages: "Too many … are in progress". */
  what: string
  ofAll: number
  ofAccount: number
}

const tooManyOfAccount = (what: string) => tooManyRequests(`Too many ${what} of this account are in progress`)
const tooManyOfAll = (what: string) => unavailable(`Too many ${what} are in progress; try again later`)
export const concurrencyErrors = (what: string) => [tooManyOfAccount(what), tooManyOfAll(what)]

/** Limits the operations in progress in this process: in total, and for each account with all its tokens. */
export function openConcurrencyLimit({ what, ofAll, ofAccount }: Bounds) {
  const acquired = new Map<string, number>()
  let all = 0

  return {
    acquire(accountId: string, count = 1): () => void {
      const own = acquired.get(accountId) ?? 0
      if (own + count > ofAccount) throw tooManyOfAccount(what)
      if (all + count > ofAll) throw tooManyOfAll(what)
      acquired.set(accountId, own + count)
      all += count
      return () => {
        all -= count
        const left = acquired.get(accountId)! - count
        if (left > 0) acquired.set(accountId, left)
        else acquired.delete(accountId)
      }
    },
    inProgress: () => all,
  }
}
