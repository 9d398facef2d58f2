import type { Config } from '../config.ts'
import { Refusal, unavailable } from '../wire/refusals.ts'

const tooManyHere = () => unavailable('Too many follow projects here')
const tooManyOfOne = () =>
  new Refusal(429, 'Too many requests of yours follow projects', { 'retry-after': '1' })

/** Bounds how many follow projects in this process at once, all together and of one caller. */
export function openSeats({
  followers,
  followersPerCaller,
}: Pick<Config, 'followers' | 'followersPerCaller'>) {
  const taken = new Map<string, number>()
  let all = 0

  const seated = () => all

  /** Takes a seat, or several; gives the way to leave. @throws Refusal 503 or 429 */
  const take = (holder: string, seats = 1): (() => void) => {
    const own = taken.get(holder) ?? 0
    if (own + seats > followersPerCaller) throw tooManyOfOne()
    if (all + seats > followers) throw tooManyHere()
    taken.set(holder, own + seats)
    all += seats
    return () => {
      all -= seats
      const left = taken.get(holder)! - seats
      if (left > 0) taken.set(holder, left)
      else taken.delete(holder)
    }
  }
  return { take, seated }
}
