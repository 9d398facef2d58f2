import { Type } from '@sinclair/typebox'
import type { ProjectRow } from '../../drizzle/rows.ts'
import { IdOf, Input, OwnId, Name, Nullable, OneOf, Text } from '../../src/schema/input.ts'
import { ifSet, view } from '../../src/model/view.ts'
import { Id, OrNull, Timestamp } from '../../src/schema/response.ts'
import { PersonView, personView } from '../accounts/user.ts'

const ProjectName = Name(200, 'Analytical Engine')
const Description = Nullable(Text(0, 20_000, 'Everything about the engine'))
const lastWriteWins = 'last-write-wins'
const TextEdits = OneOf(
  'TextEdits',
  [lastWriteWins, 'if-match'],
  'with if-match, a change of the title or of an existing description of a task needs the ETag of the task',
)

export const CreateProject = Input({
  id: OwnId(),
  name: ProjectName,
  description: Type.Optional(Description),
  textEdits: Type.Optional(TextEdits),
})
export const UpdateProject = Input({
  id: IdOf('project'),
  name: Type.Optional(ProjectName),
  description: Type.Optional(Description),
  textEdits: Type.Optional(TextEdits),
})

export const projectView = view<ProjectRow>({
  name: 'Project',
  schema: Type.Object({
    id: Id('The project'),
    name: Type.String({ description: 'The name of the project', examples: ['Analytical Engine'] }),
    description: OrNull(Type.String(), 'A longer description, or null', 'Everything about the engine'),
    textEdits: TextEdits,
    ownerId: Id('The user who created the project'),
    owner: PersonView('The owner; null after the account is deleted'),
    createdAt: Timestamp('When the project was created'),
  }),
  computed: {
    owner: (_, owner) => personView(owner),
    textEdits: ifSet<ProjectRow, string>('textEdits', lastWriteWins),
  },
  etagSuffix: (_, owner) => owner?.nameTag ?? '',
})
