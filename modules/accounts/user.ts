import { Type } from '@sinclair/typebox'
import { Id } from '../../src/schema/answer.ts'
import { named } from '../../src/schema/named.ts'
import { Body } from '../../src/schema/input.ts'
import { view } from '../../src/model/view.ts'
import { Email, Name, Secret, Words } from '../../src/schema/text.ts'

export interface User {
  id: string
  name: string
  email: string
}

/** A user as only the user sees it. */
export interface OwnUser extends User {
  emailVerified: boolean
}

export const userView = view<User>({
  name: 'User',
  schema: Type.Object({
    id: Id('The user'),
    name: Type.String({ description: 'The full name', examples: ['Ada Lovelace'] }),
    email: Type.String({ format: 'email', description: 'The address', examples: ['ada@example.com'] }),
  }),
})

export const accountView = view<OwnUser>({
  name: 'Account',
  schema: Type.Object({
    ...userView.schema.properties,
    emailVerified: Type.Boolean({
      description: 'Whether the owner of the address has confirmed it by a mail',
      examples: [true],
    }),
  }),
})

export const Password = Secret(6, 1024, 'A password of 6 to 1024 characters', 'correct horse battery')
export const RegisterBody = named(
  'Register',
  Body({ name: Name(200, 'Ada Lovelace'), email: Email(), password: Password }, accountView.schema),
)

/** Any strings: one that fits no account is a wrong email or password. */
export const LoginBody = named(
  'Login',
  Body(
    {
      email: Words(1024, 'The email address registered', 'ada@example.com'),
      password: Words(1024, 'The password', 'correct horse battery'),
    },
    accountView.schema,
  ),
)

/** A user as projects show it: null once the account is deleted. */
export const PersonView = (description: string) => Type.Union([userView.schema, Type.Null()], { description })
export const personView = (person: User | undefined) => (person ? userView.of(person) : null)
