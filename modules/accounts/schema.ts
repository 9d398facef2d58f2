import { Type } from '@sinclair/typebox'
import { Body, Input, Name, Secret } from '../../src/schema/input.ts'
import { view } from '../../src/model/view.ts'
import type { Claims } from '../../src/identity/tokens.ts'
import { named } from '../../src/schema/response.ts'
import { ConfirmingPassword } from './confirm.ts'
import { accountView, type OwnUser, Password } from './user.ts'

const Token = Type.String({
  description: 'A JWT for the Authorization header',
  examples: ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMTlhIn0.c2lnbmF0dXJl'],
})

/** The idempotency record contains the claims of the token, not the token. */
export const signedInView = view<{ account: OwnUser; claims: Claims }>({
  name: 'SignedIn',
  schema: Type.Object({ access_token: Token, user: accountView.schema }),
  of: ({ claims, account }) => ({ claims, user: accountView.of(account) }),
  hasNoEtag: true,
})

/** After a change of the password, the response contains a new token. */
export const updatedAccountView = view<OwnUser & { claims?: Claims }>({
  name: 'ChangedUser',
  schema: Type.Object({ access_token: Type.Optional(Token), ...accountView.schema.properties }),
  of: ({ claims, ...account }) => ({ claims, ...accountView.of(account) }),
})

export const UpdateMeBody = named(
  'UpdateMe',
  Body(
    {
      name: Type.Optional(Name(200, 'Ada King')),
      password: Type.Optional(Password),
      currentPassword: Type.Optional(
        Secret(0, 1024, 'A text, the current password, required to set a new one', 'correct horse battery'),
      ),
    },
    updatedAccountView.schema,
  ),
)

export const DeleteMeBody = named('DeleteMe', {
  ...Input({ password: Type.Optional(ConfirmingPassword) }),
  default: {},
})
