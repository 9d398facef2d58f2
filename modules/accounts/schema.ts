import { Type } from '@sinclair/typebox'
import { Body, Input } from '../../src/commands/input.ts'
import { named } from '../../src/schema/named.ts'
import { Name, Secret } from '../../src/schema/text.ts'
import { ConfirmingPassword } from './confirm.ts'
import { AccountView, Password, Token } from './user.ts'

export const messages = {
  deleted: 'Account deleted successfully',
  signedOut: 'Signed out successfully',
  signedOutEverywhere: 'Signed out everywhere successfully',
}

/** With a token when the password was set, for that ends all others. */
export const ChangedMeView = named(
  'ChangedUser',
  Type.Object({ access_token: Type.Optional(Token), ...AccountView.properties }),
)

export const UpdateMeBody = named(
  'UpdateMe',
  Body(
    {
      name: Type.Optional(Name(200, 'Ada King')),
      password: Type.Optional(Password),
      currentPassword: Type.Optional(
        Secret(0, 1024, 'The password until now, to set another', 'correct horse battery'),
      ),
    },
    ChangedMeView,
  ),
)

/** By its default it may be left away. */
export const DeleteMeBody = named('DeleteMe', {
  ...Input({ password: Type.Optional(ConfirmingPassword) }),
  default: {},
})
