import { Input } from '../../src/schema/input.ts'
import { Email, Words } from '../../src/schema/text.ts'
import { Password } from '../accounts/user.ts'

const Token = Words(1024, 'The token of the mail', 'AZorPE1ef2CKmwwdLj9KWzN2p0kYH3f6c1l0b5x8QdE')

export const VerifyEmail = Input({ token: Token })
export const ForgotPassword = Input({ email: Email() })
export const ResetPassword = Input({ token: Token, password: Password })
