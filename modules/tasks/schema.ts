import { Type } from '@sinclair/typebox'
import type { TaskRow } from '../../drizzle/rows.ts'
import { Id, Timestamp } from '../../src/core/docs.ts'
import { Body, Query } from '../../src/core/doors.ts'
import { Cursor, Limit } from '../../src/core/pages.ts'
import { Instant, Nullable, OneOf, Text } from '../../src/core/text.ts'

export const statuses = ['TODO', 'IN_PROGRESS', 'DONE'] as const
export const priorities = ['LOW', 'MEDIUM', 'HIGH'] as const
export const sorts = ['createdAt', '-createdAt', 'dueDate', '-dueDate'] as const

const sampleId = '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'
const ProjectId = Type.String({ maxLength: 100, description: 'The id of a project', examples: [sampleId] })
const UserId = Type.String({ maxLength: 100, description: 'The id of a user', examples: [sampleId] })

const Title = Text(1, 500, 'Draw the second plate')
const optional = {
  description: Type.Optional(Nullable(Text(0, 20_000, 'In ink, with all wheels'))),
  status: Type.Optional(OneOf(statuses)),
  priority: Type.Optional(OneOf(priorities)),
  dueDate: Type.Optional(Nullable(Instant())),
  assigneeId: Type.Optional(Nullable(UserId)),
}

export const TaskView = Type.Object({
  id: Id('The task'),
  projectId: Id('The project it belongs to'),
  number: Type.Integer({ description: 'Counts up in its project: 1, 2, 3 …', examples: [42] }),
  title: Type.String({ examples: ['Draw the second plate'] }),
  description: Type.Union([Type.String(), Type.Null()], { examples: ['In ink, with all wheels'] }),
  status: OneOf(statuses),
  priority: OneOf(priorities),
  dueDate: Type.Union([Timestamp('When it is due'), Type.Null()], { examples: ['2027-01-31T17:00:00.000Z'] }),
  assigneeId: Type.Union([Id('The user it is assigned to'), Type.Null()]),
  createdAt: Timestamp('When it was created'),
  updatedAt: Timestamp('When it was last changed'),
})

export const CreateTaskBody = Body({ title: Title, projectId: ProjectId, ...optional }, TaskView)
export const UpdateTaskBody = Body(
  {
    title: Type.Optional(Title),
    projectId: Type.Optional(ProjectId),
    ...optional,
  },
  TaskView,
)

export const ListTasksQuery = Query({
  projectId: Type.Optional(ProjectId),
  status: Type.Optional(OneOf(statuses)),
  priority: Type.Optional(OneOf(priorities)),
  assigneeId: Type.Optional(
    Type.String({ maxLength: 100, description: 'The id of a user, or me', examples: ['me'] }),
  ),
  dueBefore: Type.Optional(Instant()),
  dueAfter: Type.Optional(Instant()),
  sort: Type.Optional(OneOf(sorts)),
  limit: Limit(50, 200),
  cursor: Cursor(),
})

export const taskView = (row: TaskRow) => ({
  id: row.id,
  projectId: row.projectId,
  number: row.number,
  title: row.title,
  description: row.description,
  status: row.status,
  priority: row.priority,
  dueDate: row.dueDate,
  assigneeId: row.assigneeId,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})
