import { Type } from '@sinclair/typebox'
import { Body } from '../../src/commands/input.ts'
import { named } from '../../src/schema/named.ts'
import { Email, Words } from '../../src/schema/text.ts'
import { Password } from '../accounts/user.ts'

export const messages = {
  verified: 'Email address verified successfully',
  resent: 'A mail is on its way',
  forgotten: 'A mail is on its way if this address is verified',
  reset: 'Password set successfully',
}

const nothing = Type.Object({})
const Token = Words(1024, 'The token of the mail', 'AZorPE1ef2CKmwwdLj9KWzN2p0kYH3f6c1l0b5x8QdE')

export const VerifyBody = named('VerifyEmail', Body({ token: Token }, nothing))
export const ForgotBody = named('ForgotPassword', Body({ email: Email() }, nothing))
export const ResetBody = named('ResetPassword', Body({ token: Token, password: Password }, nothing))
