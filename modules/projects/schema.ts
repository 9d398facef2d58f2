import { Type } from '@sinclair/typebox'
import type { ProjectRow } from '../../drizzle/rows.ts'
import { Id, Timestamp } from '../../src/core/docs.ts'
import { Body, Query } from '../../src/core/doors.ts'
import { Cursor, Limit } from '../../src/core/pages.ts'
import { Nullable, Text } from '../../src/core/text.ts'
import { PersonView, personView, type User } from '../auth/schema.ts'

const Name = Text(1, 200, 'Analytical Engine')
const Description = Nullable(Text(0, 20_000, 'Everything about the engine'))

export const ProjectView = Type.Object({
  id: Id('The project'),
  name: Type.String({ examples: ['Analytical Engine'] }),
  description: Type.Union([Type.String(), Type.Null()], { examples: ['Everything about the engine'] }),
  ownerId: Id('The user who created it'),
  owner: PersonView('That user; null once the account is deleted'),
  createdAt: Timestamp('When it was created'),
})

export const CreateProjectBody = Body({ name: Name, description: Type.Optional(Description) }, ProjectView)
export const UpdateProjectBody = Body(
  { name: Type.Optional(Name), description: Type.Optional(Description) },
  ProjectView,
)
export const ListProjectsQuery = Query({ limit: Limit(1_000, 1_000), cursor: Cursor() })

export const projectView = (
  { id, name, description, ownerId, createdAt }: ProjectRow,
  owner: User | undefined,
) => ({ id, name, description, ownerId, owner: personView(owner), createdAt })
