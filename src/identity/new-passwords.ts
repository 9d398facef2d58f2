import { createRequire } from 'node:module'
import type { Config } from '../config.ts'
import { hasLength } from '../schema/text.ts'
import { badRequest } from '../wire/refusals.ts'

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
    /** @throws Refusal 400 */
    require(password: string): void {
      if (!hasLength(password, { minLength: min, maxLength: maxCharacters })) throw tooShort(min)
      if (common?.has(password.toLowerCase())) throw tooCommon()
    },
  }
}

/** In lower case, the most common first in the package. */
function commonPasswords(): Set<string> {
  const { dictionary } = createRequire(import.meta.url)(
    '@zxcvbn-ts/language-common',
  ) as typeof import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'].slice(0, mostCommon))
}
