import { Type } from '@sinclair/typebox'
import { Id } from '../../src/schema/answer.ts'
import { named } from '../../src/schema/named.ts'
import { Body } from '../../src/schema/input.ts'
import { Email, Name, Secret, Words } from '../../src/schema/text.ts'

export const UserView = named(
  'User',
  Type.Object({
    id: Id('The user'),
    name: Type.String({ description: 'The full name', examples: ['Ada Lovelace'] }),
    email: Type.String({ format: 'email', description: 'The address', examples: ['ada@example.com'] }),
  }),
)

/** An account as its owner sees it. */
export const AccountView = named(
  'Account',
  Type.Object({
    ...UserView.properties,
    emailVerified: Type.Boolean({
      description: 'Whether the owner of the address has confirmed it by a mail',
      examples: [true],
    }),
  }),
)

export const Password = Secret(6, 1024, 'A password of 6 to 1024 characters', 'correct horse battery')
export const RegisterBody = named(
  'Register',
  Body({ name: Name(200, 'Ada Lovelace'), email: Email(), password: Password }, AccountView),
)

/** Any strings: what does not fit an account is a wrong email or password. */
export const LoginBody = named(
  'Login',
  Body(
    {
      email: Words(1024, 'The email address registered', 'ada@example.com'),
      password: Words(1024, 'The password', 'correct horse battery'),
    },
    AccountView,
  ),
)

export interface User {
  id: string
  name: string
  email: string
}

/** A user with what only the user sees. */
export interface OwnUser extends User {
  emailVerified: boolean
}

/** Somebody as a project shows them: null once their account is gone. */
export const PersonView = (description: string) => Type.Union([UserView, Type.Null()], { description })
export const personView = (person: User | undefined): User | null => (person ? userView(person) : null)

export const userView = ({ id, name, email }: User): User => ({ id, name, email })
export const accountView = ({ id, name, email, emailVerified }: OwnUser): OwnUser => {
  return { id, name, email, emailVerified }
}
