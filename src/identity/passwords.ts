import { availableParallelism } from 'node:os'
import * as argon2 from '@node-rs/argon2'
import { FairQueue, type Source } from './fair-queue.ts'

/** OWASP's first recommendation for argon2id: 19 MiB, 2 passes, 1 lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Half the cores: a storm of sign-ins leaves the other half to other requests. */
const slots = Math.max(1, Math.floor(availableParallelism() / 2))
/** At 25 ms a hash the last waiter of one address waits 2.5 s. */
const waiting = { perAddress: 100, perAccount: 50, total: 1_000 }

export type Passwords = ReturnType<typeof openPasswords>

/** Hashes on threads of the library, never on the event loop; bounded and in turns. */
export function openPasswords({ hash, verify }: Pick<typeof argon2, 'hash' | 'verify'> = argon2) {
  const queue = new FairQueue({ slots, ...waiting })
  const nobody = hash(crypto.randomUUID(), cost)
  return {
    hash: (password: string, by: Source) => queue.run(by, () => hash(password, cost)),
    /** Takes the same time with and without a hash. */
    matches: (password: string, known: string | undefined, by: Source) =>
      queue.run(by, async () => (await verify(known ?? (await nobody), password)) && known !== undefined),
  }
}
