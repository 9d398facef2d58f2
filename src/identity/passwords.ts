import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { unavailable } from '../wire/refusals.ts'

/** OWASP's first recommendation for argon2id: 19 MiB, 2 passes, 1 lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Half the cores, so that a login storm leaves the other half to everybody else. */
const slots = Math.max(1, Math.floor(availableParallelism() / 2))
/** Sign-ins that may wait, at most. */
const queue = 100 * slots

export type Passwords = ReturnType<typeof openPasswords>

/** Hashing on library threads, never on the event loop; bounded, so that a login storm leaves room for the rest. */
export function openPasswords() {
  let busy = 0
  const waiting: (() => void)[] = []

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (busy >= slots) {
      if (waiting.length >= queue) throw unavailable('Too many sign-ins wait')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else busy++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else busy--
    }
  }

  const nobody = hash(crypto.randomUUID(), cost)
  return {
    hash: (password: string) => bounded(() => hash(password, cost)),
    /** Takes the same time whether there is a hash to compare with or not. */
    matches: (password: string, known: string | undefined) =>
      bounded(async () => (await verify(known ?? (await nobody), password)) && known !== undefined),
  }
}
