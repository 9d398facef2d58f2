import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import * as argon2 from '@node-rs/argon2'
import type { Config } from '../config.ts'
import { hasLength } from '../schema/text.ts'
import { badRequest } from '../responses/errors.ts'
import { FairQueue, type Source } from './fair-queue.ts'

/** OWASP's first recommendation for argon2id: 19 MiB, 2 passes, 1 lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Half the cores: a storm of sign-ins leaves the other half to other requests. */
const slots = Math.max(1, Math.floor(availableParallelism() / 2))
/** At 25 ms a hash the last waiter of one address waits 2.5 s. */
const bounds = { slots, perAddress: 100, perAccount: 50, total: 1_000 }

export type Passwords = ReturnType<typeof openPasswords>

/** Hashes on threads of the library, never on the event loop; bounded and in turns. */
export function openPasswords({ hash, verify }: Pick<typeof argon2, 'hash' | 'verify'> = argon2) {
  const queue = new FairQueue(bounds)
  const nobody = hash(crypto.randomUUID(), cost)
  return {
    hash: (password: string, by: Source) => queue.run(by, () => hash(password, cost)),
    /** Takes the same time with and without a hash. */
    matches: (password: string, known: string | undefined, by: Source) =>
      queue.run(by, async () => (await verify(known ?? (await nobody), password)) && known !== undefined),
  }
}

/** NIST SP 800-63B rejects common passwords; so many take about 1 MB of memory. */
const mostCommon = 10_000
const maxCharacters = 1_024

const tooShort = (min: number) =>
  badRequest(`password must be a password of ${min} to ${maxCharacters} characters`)
export const tooCommon = () =>
  badRequest(`password must not be one of the ${mostCommon.toLocaleString('en')} most common passwords`)

/** The operator's rules for new passwords, beyond those of the contract. */
export function openNewPasswords({ passwordMinCharacters: min, passwordRejectCommon }: Config) {
  const common = passwordRejectCommon ? commonPasswords() : undefined
  return {
    /** @throws HttpError 400 */
    require(password: string): void {
      if (!hasLength(password, { minLength: min, maxLength: maxCharacters })) throw tooShort(min)
      if (common?.has(password.toLowerCase())) throw tooCommon()
    },
  }
}

/** In lower case, the most common first in the package. */
function commonPasswords(): Set<string> {
  const require = createRequire(import.meta.url)
  const common: typeof import('@zxcvbn-ts/language-common') = require('@zxcvbn-ts/language-common')
  return new Set(common.dictionary['passwords-common'].slice(0, mostCommon))
}
