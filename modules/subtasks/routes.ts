import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { saying, showing } from '../../src/actor/reply.ts'
import { Message, operation } from '../../src/core/docs.ts'
import type { Services } from '../../src/services.ts'
import { listOfTask } from '../tasks/list-of-task.ts'
import { openSeenTasks } from '../tasks/queries.ts'
import type { WriteAt } from '../tasks/write-at.ts'
import { addSubtask, deleteSubtask, toggleSubtask, updateSubtask } from './decide.ts'
import { subtasksOf } from './queries.ts'
import {
  CreateSubtaskBody,
  ListSubtasksQuery,
  SubtaskView,
  subtaskView,
  UpdateSubtaskBody,
} from './schema.ts'

const tag = 'Subtasks'

export function subtaskRoutes({ database, doors, serve, versions }: Services, writeAt: WriteAt) {
  const list = listOfTask(serve, openSeenTasks(database.reads, versions), subtaskView, (taskId, page) =>
    subtasksOf(database.reads, taskId, page),
  )

  return new Elysia({ prefix: '/tasks' })
    .use(doors.guarded)
    .post(
      '/:id/subtasks',
      ({ params: { id }, body, caller, request }) => {
        const title = body.title.trim()
        const madeAt = (made: string) => `/tasks/subtasks/${made}`
        return writeAt('task', id, { request, caller, body, madeAt }, (state, context) =>
          showing(addSubtask(state, context, id, title), subtaskView, 201),
        )
      },
      {
        jsonBody: true,
        body: CreateSubtaskBody,
        ...operation({
          tag,
          summary: 'Add a subtask',
          description: 'Not completed at first. Takes the role EDITOR.',
          answers: { status: 201, schema: SubtaskView, description: 'Added' },
          refuses: [400, 403, 404, 413, 415, 422],
        }),
      },
    )
    .get('/:id/subtasks', ({ params: { id }, query, caller, request }) => list(request, caller, id, query), {
      query: ListSubtasksQuery,
      ...operation({
        tag,
        summary: "List a task's subtasks",
        description: 'Oldest first.',
        answers: { status: 200, schema: Type.Array(SubtaskView), description: 'A page of subtasks' },
        refuses: [400, 404],
        conditional: true,
        paged: true,
      }),
    })
    .patch(
      '/subtasks/:id/toggle',
      ({ params: { id }, caller, request }) =>
        writeAt('subtask', id, { request, caller }, (state, context, ref) =>
          showing(toggleSubtask(state, context, ref), subtaskView),
        ),
      operation({
        tag,
        summary: 'Invert the completed flag',
        description: 'Not safe to retry; PATCH the subtask with `completed` is.',
        answers: { status: 200, schema: SubtaskView, description: 'The subtask as it is now' },
        refuses: [400, 403, 404, 412, 422],
      }),
    )
    .patch(
      '/subtasks/:id',
      ({ params: { id }, body, caller, request }) => {
        const wanted = { title: body.title?.trim(), completed: body.completed }
        return writeAt('subtask', id, { request, caller, body }, (state, context, ref) =>
          showing(updateSubtask(state, context, ref, wanted), subtaskView),
        )
      },
      {
        jsonBody: true,
        body: UpdateSubtaskBody,
        ...operation({
          tag,
          summary: 'Change a subtask',
          description: 'Absent fields stay. Takes the role EDITOR.',
          answers: { status: 200, schema: SubtaskView, description: 'The subtask as it is now' },
          refuses: [400, 403, 404, 412, 413, 415, 422],
        }),
      },
    )
    .delete(
      '/subtasks/:id',
      ({ params: { id }, caller, request }) =>
        writeAt('subtask', id, { request, caller }, (state, context, ref) =>
          saying(deleteSubtask(state, context, ref), 'Subtask deleted successfully'),
        ),
      operation({
        tag,
        summary: 'Delete a subtask',
        answers: { status: 200, schema: Message('Subtask deleted successfully'), description: 'Deleted' },
        refuses: [400, 403, 404, 412, 422],
      }),
    )
}
