import { type Static, Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { TaskRow } from '../../drizzle/rows.ts'
import { saying, showing } from '../../src/actor/reply.ts'
import { Message, operation } from '../../src/core/docs.ts'
import { notFound } from '../../src/core/errors.ts'
import { canonicalId, isId } from '../../src/core/ids.ts'
import { pageOf } from '../../src/core/pages.ts'
import { optionalText, parseInstant } from '../../src/core/text.ts'
import { etagAt } from '../../src/core/versions.ts'
import { etagOf, page, pathOf } from '../../src/core/wire.ts'
import type { Services } from '../../src/services.ts'
import { createTask, deleteTask, moveTask, type TaskChanges, updateTask } from './decide.ts'
import { listTasks, lookedAt } from './list.ts'
import { readTaskFilter } from './list-query.ts'
import type { Places } from './places.ts'
import { openSeenTasks, openTasks } from './queries.ts'
import { CreateTaskBody, ListTasksQuery, TaskView, taskView, UpdateTaskBody } from './schema.ts'
import type { WriteAt } from './write-at.ts'

const tag = 'Tasks'

export function taskRoutes(
  { database, actors, doors, standing, serve, versions, write }: Services,
  places: Places,
  writeAt: WriteAt,
) {
  const sql = database.reads
  const seeTask = openSeenTasks(sql, versions)
  const findTask = openTasks(sql)

  return new Elysia({ prefix: '/tasks' })
    .use(doors.guarded)
    .post(
      '',
      ({ body, caller, request }) => {
        const wanted = { ...blank, ...wantedOf(body), title: body.title.trim() }
        return write(
          request,
          caller,
          body,
          (conditions) =>
            actors.run({
              projectId: canonicalId(body.projectId),
              caller,
              ...conditions,
              decide: (state, context) => showing(createTask(state, context, wanted), taskView, 201),
            }),
          (id) => `/tasks/${id}`,
        )
      },
      {
        jsonBody: true,
        body: CreateTaskBody,
        ...operation({
          tag,
          summary: 'Create a task',
          description: 'Takes the role EDITOR.',
          answers: { status: 201, schema: TaskView, description: 'Created' },
          refuses: [400, 403, 404, 413, 415, 422],
        }),
      },
    )
    .get(
      '',
      async ({ query, caller, request }) => {
        const filter = readTaskFilter(query, caller)
        const { projectId } = filter
        const named = projectId !== undefined
        const seen = named && isId(projectId) ? await standing({ userId: caller, projectId }) : undefined
        if (named && !seen) throw notFound('Project')
        const byDue = filter.sort.endsWith('dueDate')
        const key = (row: TaskRow) => (byDue ? [row.dueDate, row.id] : [row.id])
        const build = async (etag = '') => {
          const found = await listTasks(sql, filter)
          if (!found) throw notFound('Project')
          return pageOf(request, found, taskView, key, etag)
        }
        if (!seen) return page(request, await build())
        // `me` is somebody else for each caller.
        const whose = query.assigneeId === 'me' ? `.${caller}` : ''
        const etag = etagAt(seen, whose)
        return serve(request, pathOf(request) + whose, etag, () => build(etag))
      },
      {
        query: ListTasksQuery,
        ...operation({
          tag,
          summary: 'List tasks',
          description: `Of one project, or across the caller's. Without a due date: last by dueDate, first by -dueDate. Sorted by creation and filtered by due date, a page looks at ${lookedAt} tasks of a project at most: it may show fewer than \`limit\`, and the Link header leads on.`,
          answers: { status: 200, schema: Type.Array(TaskView), description: 'A page of tasks' },
          refuses: [400, 404],
          conditional: true,
          paged: true,
        }),
      },
    )
    .get(
      '/:id',
      async ({ params: { id }, caller, request }) => {
        const seen = isId(id) && (await seeTask({ userId: caller, taskId: id }))
        if (!seen) throw notFound('Task')
        return serve(request, id, etagOf(seen), async () => {
          const task = await findTask({ userId: caller, taskId: id })
          if (!task) throw notFound('Task')
          return { etag: etagOf(task), body: JSON.stringify(taskView(task)), link: null }
        })
      },
      operation({
        tag,
        summary: 'Get a task',
        answers: { status: 200, schema: TaskView, description: 'The task' },
        refuses: [404],
        conditional: true,
      }),
    )
    .patch(
      '/:id',
      ({ params: { id }, body, caller, request }) => {
        const wanted = wantedOf(body)
        const otherProjectId = body.projectId && canonicalId(body.projectId)
        return write(request, caller, body, (conditions) =>
          places.at('task', id, 'Task', ({ projectId }) => {
            const common = { projectId, caller, needs: { task: [id] }, ...conditions }
            if (otherProjectId === undefined || otherProjectId === projectId) {
              return actors.run({
                ...common,
                decide: (state, context) => showing(updateTask(state, context, id, wanted), taskView),
              })
            }
            if (!isId(otherProjectId)) throw notFound('Project')
            return actors.run({
              ...common,
              otherProjectId,
              decide: (state, context, target) =>
                showing(moveTask(state, target, context, id, wanted), taskView),
            })
          }),
        )
      },
      {
        jsonBody: true,
        body: UpdateTaskBody,
        ...operation({
          tag,
          summary: 'Change a task, or move it',
          description:
            'Absent fields stay, null clears an optional one. Another projectId moves the task there, where it takes the next number. Takes the role EDITOR, in both projects.',
          answers: { status: 200, schema: TaskView, description: 'The task as it is now' },
          refuses: [400, 403, 404, 412, 413, 415, 422],
        }),
      },
    )
    .delete(
      '/:id',
      ({ params: { id }, caller, request }) =>
        writeAt('task', id, { request, caller }, (state, context) =>
          saying(deleteTask(state, context, id), 'Task deleted successfully'),
        ),
      operation({
        tag,
        summary: 'Delete a task',
        description: 'With its subtasks and comments. Takes the role EDITOR.',
        answers: { status: 200, schema: Message('Task deleted successfully'), description: 'Deleted' },
        refuses: [400, 403, 404, 412, 422],
      }),
    )
}

const blank = {
  description: null,
  status: 'TODO',
  priority: 'MEDIUM',
  dueDate: null,
  assigneeId: null,
} as const

/** The body's fields as they are stored; absent ones are left out. */
function wantedOf(body: Static<typeof UpdateTaskBody>): TaskChanges {
  const wanted: TaskChanges = {
    title: body.title?.trim(),
    description: optionalText(body.description),
    status: body.status,
    priority: body.priority,
    dueDate: typeof body.dueDate === 'string' ? parseInstant(body.dueDate) : body.dueDate,
    assigneeId: body.assigneeId && canonicalId(body.assigneeId),
  }
  for (const key in wanted)
    if (wanted[key as keyof TaskChanges] === undefined) delete wanted[key as keyof TaskChanges]
  return wanted
}
