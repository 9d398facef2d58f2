import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import * as argon2 from '@node-rs/argon2'
import { FairQueue } from '../admission/fair-queue.ts'
import type { Config } from '../config.ts'
import { hasLength } from '../schema/input.ts'
import { badRequest } from '../responses/errors.ts'

/** OWASP's recommendation for argon2id: 19 MiB, 2 iterations, 1 degree of parallelism. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Half the cores, so that many sign-ins leave the other half to other requests. */
const slots = Math.max(1, Math.floor(availableParallelism() / 2))
/** A hash takes about 25 ms: with one slot, the last of 100 waiting hashes of an address waits 2.5 s. */
const bounds = {
  ...{ what: 'sign-ins', whose: 'from this address' },
  ...{ slots, slotsOfKey: slots, waiting: 1_000, waitingOfKey: 100 },
}

export type Passwords = ReturnType<typeof openPasswords>

/** Hashes on the library's threads, never on the event loop. Waiting addresses take turns. */
export function openPasswords({ hash, verify }: Pick<typeof argon2, 'hash' | 'verify'> = argon2) {
  const queue = new FairQueue(bounds)
  const dummyHash = hash(crypto.randomUUID(), cost)
  return {
    hash: (password: string, address: string) => queue.run(address, () => hash(password, cost)),
    /** `hashed` is undefined if the account does not exist. The response time does not reveal this. */
    matches: (password: string, hashed: string | undefined, address: string) =>
      queue.run(
        address,
        async () => (await verify(hashed ?? (await dummyHash), password)) && hashed !== undefined,
      ),
  }
}

/** NIST SP 800-63B requires services to reject common passwords. The list takes about 1 MB. */
const maxCommon = 10_000
const maxCharacters = 1_024

const tooShort = (min: number) =>
  badRequest(`password must be a password of ${min} to ${maxCharacters} characters`)
export const tooCommon = () =>
  badRequest(`password must not be one of the ${maxCommon.toLocaleString('en')} most common passwords`)

export function openNewPasswords({ passwordMinCharacters: min, passwordRejectCommon }: Config) {
  const common = passwordRejectCommon ? commonPasswords() : undefined
  return {
    require(password: string): void {
      if (!hasLength(password, { minLength: min, maxLength: maxCharacters })) throw tooShort(min)
      if (common?.has(password.toLowerCase())) throw tooCommon()
    },
  }
}

function commonPasswords(): Set<string> {
  const require = createRequire(import.meta.url)
  const common: typeof import('@zxcvbn-ts/language-common') = require('@zxcvbn-ts/language-common')
  return new Set(common.dictionary['passwords-common'].slice(0, maxCommon))
}
