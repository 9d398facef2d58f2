import { Type } from '@sinclair/typebox'
import type { LabelRow } from '../../drizzle/rows.ts'
import { view } from '../../src/model/view.ts'
import { IdOf, Input, OwnId, Name, Nullable } from '../../src/schema/input.ts'
import { Id, OrNull, Timestamp } from '../../src/schema/response.ts'

const LabelName = (example: string) => Name(50, example)
const Color = Nullable(
  Type.String({
    pattern: '^#[0-9a-fA-F]{6}$',
    description: 'A color in the form #rrggbb',
    examples: ['#d73a4a'],
  }),
)

export const CreateLabel = Input({
  id: OwnId(),
  projectId: IdOf('project'),
  name: LabelName('bug'),
  color: Type.Optional(Color),
})
export const UpdateLabel = Input({
  id: IdOf('label'),
  name: Type.Optional(LabelName('defect')),
  color: Type.Optional(Color),
})

export const labelView = view<LabelRow>({
  name: 'Label',
  schema: Type.Object({
    id: Id('The label'),
    projectId: Id('The project that has the label'),
    name: Type.String({
      description: 'The name, unique in the project without regard to case',
      examples: ['bug'],
    }),
    color: OrNull(Type.String(), 'A color in the form #rrggbb, or null', '#d73a4a'),
    createdAt: Timestamp('When the label was created'),
  }),
})
