import { openBodyBytes, tooLarge } from '../../src/http/json-body.ts'
import { tooCommon } from '../../src/identity/new-passwords.ts'
import { operation } from '../../src/openapi/operation.ts'
import { Message } from '../../src/schema/answer.ts'
import { badRequest, conflict } from '../../src/wire/refusals.ts'
import { ForgotBody, messages, ResetBody, VerifyBody } from './schema.ts'

const tag = 'Authentication'
const said = (message: string, status?: 202) => {
  return { status, schema: Message, example: { message }, description: 'Done', secret: true }
}

export const noMail = () => conflict('This service sends no mail: its operator has not set SMTP_URL')
export const isVerified = () => conflict('This email address is verified already')
export const badMailToken = () =>
  badRequest('token must be that of a mail, neither used nor expired: request another mail')

export const verifying = operation({
  id: 'verifyEmail',
  tag,
  summary: 'Verify an email address',
  description:
    'The token is in the mail that registering or `resend` sent. It holds for 24 hours and is used once.',
  does: 'add',
  body: VerifyBody,
  answers: said(messages.verified),
  refuses: [badMailToken(), noMail(), tooLarge(openBodyBytes)],
  open: true,
})

export const resending = operation({
  id: 'resendVerification',
  tag,
  summary: 'Send the verification mail again',
  description: 'To the address of the caller. Mails to one address are bounded per hour.',
  does: 'add',
  answers: said(messages.resent, 202),
  refuses: [noMail(), isVerified()],
})

export const forgetting = operation({
  id: 'forgotPassword',
  tag,
  summary: 'Send a mail to set a forgotten password',
  description:
    'The answer is the same for every address. Only a verified address of an account gets a mail. Mails to one address are bounded per hour.',
  does: 'add',
  body: ForgotBody,
  answers: said(messages.forgotten, 202),
  refuses: [noMail(), tooLarge(openBodyBytes)],
  open: true,
})

export const resetting = operation({
  id: 'resetPassword',
  tag,
  summary: 'Set a forgotten password',
  description:
    'The token holds for 30 minutes and is used once. All sign-ins and API tokens of the account end; sign in with the new password.',
  does: 'add',
  body: ResetBody,
  answers: said(messages.reset),
  refuses: [badMailToken(), tooCommon(), noMail(), tooLarge(openBodyBytes)],
  open: true,
})
