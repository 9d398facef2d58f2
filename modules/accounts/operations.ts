import { Message, operation } from '../../src/schema/operation.ts'
import { ChangedMeView, messages } from './schema.ts'
import { SignedInView, UserView } from './user.ts'

// What the document says of each route.
const tag = 'Authentication'

export const registering = operation({
  tag,
  summary: 'Register an account',
  description: 'An Idempotency-Key holds for the email address.',
  answers: { status: 201, schema: SignedInView, description: 'Registered and signed in' },
  refuses: [400, 409, 413, 415, 422],
  open: true,
})

export const signingIn = operation({
  tag,
  summary: 'Sign in',
  answers: { status: 200, schema: SignedInView, description: 'Signed in' },
  refuses: [400, 401, 413, 415, 422],
  open: true,
})

export const reading = operation({
  tag,
  summary: 'Who am I',
  answers: { status: 200, schema: UserView, description: 'The caller' },
  conditional: true,
})

export const changing = operation({
  tag,
  summary: 'Change my name or password',
  description:
    'Absent fields stay. A new password takes the current one (403 when it is wrong), ends every token and is answered with a fresh one.',
  answers: { status: 200, schema: ChangedMeView, description: 'The caller as they are now' },
  refuses: [400, 403, 412, 413, 415, 422],
})

export const deleting = operation({
  tag,
  summary: 'Delete my account',
  description:
    'At once and for good: its tokens, its projects and its memberships. Comments stay, their author shown as removed.',
  answers: { status: 200, schema: Message(messages.deleted), description: 'Deleted' },
  refuses: [400, 412, 422],
})

export const signingOut = operation({
  tag,
  summary: 'Sign out',
  description: 'The token of this request is refused from now on, everywhere within a second.',
  answers: { status: 200, schema: Message(messages.signedOut), description: 'Signed out' },
  refuses: [400, 422],
})

export const signingOutEverywhere = operation({
  tag,
  summary: 'Sign out everywhere',
  description: 'Every token of the caller is refused from now on, everywhere within a second.',
  answers: { status: 200, schema: Message(messages.signedOutEverywhere), description: 'Signed out' },
  refuses: [400, 422],
})
