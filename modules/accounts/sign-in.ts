import { accountCommand, type Stranger } from '../../src/commands/command.ts'
import { openBodyBytes, tooLarge } from '../../src/http/json-body.ts'
import { normalEmail } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { unauthorized } from '../../src/wire/refusals.ts'
import { type Account, accountByEmail, keepAnswer } from './queries.ts'
import { signedInView } from './schema.ts'
import { LoginBody } from './user.ts'

const wrong = () => unauthorized('Wrong email or password')

export const login = ({ database, limits, passwords, tokens }: Services) =>
  accountCommand('account.login', {
    called: { id: 'login', tag: 'Authentication' },
    about: 'An Idempotency-Key holds for the email address.',
    input: LoginBody,
    callers: 'anyone',
    begin({ address }: Stranger, { email: given, password }) {
      const email = normalEmail(given).replaceAll('\0', '')
      const by = { address, account: email }
      let account: Account | undefined
      return {
        scope: `email:${email}`,
        account: email,
        async admit() {
          account = await accountByEmail(database.chores, email)
          const isRight = () => passwords.matches(password, account?.passwordHash, by)
          const who = { address, email, accountId: account?.id }
          if (!(await limits.guess(who, isRight)) || !account) throw wrong()
        },
        async execute(keep) {
          const { id, tokenVersion } = account!
          const row = { account: account!, claims: await tokens.issue(id, tokenVersion) }
          await keepAnswer(database.chores, keep(row))
          return row
        },
      }
    },
    shows: signedInView,
    done: 'Signed in',
    does: 'add',
    refuses: [wrong(), tooLarge(openBodyBytes)],
  })
