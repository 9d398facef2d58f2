import { type Static, Type } from '@sinclair/typebox'
import { Id } from '../../src/schema/response.ts'
import { view } from '../../src/model/view.ts'
import { Secret } from '../../src/schema/input.ts'

const userSchema = Type.Object({
  id: Id('The user'),
  name: Type.String({ description: 'The full name', examples: ['Ada Lovelace'] }),
  email: Type.String({ format: 'email', description: 'The address', examples: ['ada@example.com'] }),
})
const accountSchema = Type.Object({
  ...userSchema.properties,
  emailVerified: Type.Boolean({
    description: 'Whether the user has verified the address through a mail',
    examples: [true],
  }),
})

export const withOperation = (id: string) => ({ operation: { id, tag: 'Authentication' } })

export type User = Static<typeof userSchema>
export type OwnUser = Static<typeof accountSchema>
export const userView = view<User>({ name: 'User', schema: userSchema })
export const accountView = view<OwnUser>({ name: 'Account', schema: accountSchema })

export const Password = Secret(6, 1024, 'A password of 6 to 1024 characters', 'correct horse battery')
/** The fields of a user that other members see; null after the account is deleted. */
export const PersonView = (description: string) => Type.Union([userView.schema, Type.Null()], { description })
export const personView = (person: User | undefined) => (person ? userView.of(person) : null)
