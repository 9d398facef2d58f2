import { openBodyBytes, tooLarge } from '../../src/http/json-body.ts'
import { tooCommon } from '../../src/identity/new-passwords.ts'
import { operation } from '../../src/openapi/operation.ts'
import { Message } from '../../src/schema/answer.ts'
import { unconfirmed } from './confirm.ts'
import { passwordMissing, wrongPassword } from './change.ts'
import { closed, registered } from './registration.ts'
import { ChangedMeView, DeleteMeBody, messages, UpdateMeBody } from './schema.ts'
import { wrong } from './sign-in.ts'
import { AccountView, LoginBody, RegisterBody, SignedInView } from './user.ts'

// What the document says of each route.
const tag = 'Authentication'
const said = (message: string, description: string) => {
  return { schema: Message, example: { message }, description, secret: true }
}

export const registering = operation({
  id: 'register',
  tag,
  summary: 'Register an account',
  description: 'An Idempotency-Key holds for the email address.',
  does: 'add',
  body: RegisterBody,
  answers: {
    status: 201,
    schema: SignedInView,
    description: 'Registered and signed in',
    secret: true,
    madeAt: '/auth/me',
  },
  refuses: [tooCommon(), closed(), registered(), tooLarge(openBodyBytes)],
  open: true,
})

export const signingIn = operation({
  id: 'login',
  tag,
  summary: 'Sign in',
  description: 'An Idempotency-Key holds for the email address.',
  does: 'add',
  body: LoginBody,
  answers: { schema: SignedInView, description: 'Signed in', secret: true },
  refuses: [wrong(), tooLarge(openBodyBytes)],
  open: true,
})

export const reading = operation({
  id: 'getMe',
  tag,
  summary: 'Who am I',
  description: 'The account that the token is of.',
  does: 'read',
  scope: 'read',
  answers: { schema: AccountView, description: 'The caller' },
})

export const changing = operation({
  id: 'updateMe',
  tag,
  summary: 'Change my name or password',
  description:
    'Absent fields stay. A new password takes the current one (403 when it is wrong), ends every token, API tokens too, and is answered with a fresh one.',
  does: 'change',
  body: UpdateMeBody,
  answers: { schema: ChangedMeView, description: 'The caller as they are now', tagged: true, secret: true },
  refuses: [passwordMissing(), tooCommon(), wrongPassword()],
})

export const deleting = operation({
  id: 'deleteMe',
  tag,
  summary: 'Delete my account',
  description:
    'At once and for good: its tokens, its projects and its memberships. Comments stay, their author shown as removed. Takes the password, or a recent sign-in.',
  does: 'change',
  body: DeleteMeBody,
  answers: said(messages.deleted, 'Deleted'),
  refuses: unconfirmed,
})

export const signingOut = operation({
  id: 'logout',
  tag,
  summary: 'Sign out',
  description: 'The token of this request is refused from now on, everywhere within a second.',
  does: 'add',
  answers: said(messages.signedOut, 'Signed out'),
})

export const signingOutEverywhere = operation({
  id: 'logoutAll',
  tag,
  summary: 'Sign out everywhere',
  description:
    'Every token of the caller, API tokens too, is refused from now on, everywhere within a second.',
  does: 'add',
  answers: said(messages.signedOutEverywhere, 'Signed out'),
})
