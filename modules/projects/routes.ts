import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { ProjectRow } from '../../drizzle/rows.ts'
import type { Decision } from '../../src/actor/events.ts'
import { saying, showing } from '../../src/actor/reply.ts'
import { Message, operation } from '../../src/core/docs.ts'
import { notFound } from '../../src/core/errors.ts'
import { isId, newId } from '../../src/core/ids.ts'
import { idPage, pageOf } from '../../src/core/pages.ts'
import { goneTag } from '../../src/core/people.ts'
import { optionalText } from '../../src/core/text.ts'
import { etagOf, pathOf } from '../../src/core/wire.ts'
import type { Services } from '../../src/services.ts'
import { createProject, deleteProject, updateProject } from './decide.ts'
import { openAccounts, type Person } from '../accounts/people.ts'
import { listedView, openOwners, openPageEtags, openProjects, projectsOf } from './queries.ts'
import {
  CreateProjectBody,
  ListProjectsQuery,
  ProjectView,
  projectView,
  UpdateProjectBody,
} from './schema.ts'

const tag = 'Projects'

export function projectRoutes({ database, actors, doors, standing, serve, write }: Services) {
  const sql = database.reads
  const findProject = openProjects(sql)
  const pageEtag = openPageEtags(sql)
  const findAccount = openAccounts(sql)
  const ownerOf = openOwners(sql)

  return new Elysia({ prefix: '/projects' })
    .use(doors.guarded)
    .post(
      '',
      ({ body, caller, request }) => {
        const wanted = { name: body.name.trim(), description: optionalText(body.description) ?? null }
        return write(
          request,
          caller,
          body,
          async (conditions) => {
            const owner = await findAccount(caller)
            return actors.run({
              projectId: newId(),
              opens: true,
              caller,
              ...conditions,
              decide: (state, context) => shown(createProject(state, context, wanted), owner, 201),
            })
          },
          (id) => `/projects/${id}`,
        )
      },
      {
        jsonBody: true,
        body: CreateProjectBody,
        ...operation({
          tag,
          summary: 'Create a project',
          description: 'The caller becomes its owner.',
          answers: { status: 201, schema: ProjectView, description: 'Created' },
          refuses: [400, 413, 415, 422],
        }),
      },
    )
    .get(
      '',
      async ({ query, caller, request }) => {
        const asked = idPage(query, 1_000, 1_000)
        const etag = (await pageEtag({ userId: caller, ...asked })) ?? ''
        return serve(request, caller + pathOf(request), etag, async () => {
          const found = await projectsOf(sql, caller, asked)
          return pageOf(request, found, listedView, ({ id }) => [id], found.etag)
        })
      },
      {
        query: ListProjectsQuery,
        ...operation({
          tag,
          summary: 'List projects',
          description: 'Those the caller owns or is a member of, oldest first.',
          answers: { status: 200, schema: Type.Array(ProjectView), description: 'A page of projects' },
          refuses: [400],
          conditional: true,
          paged: true,
        }),
      },
    )
    .get(
      '/:id',
      async ({ params: { id }, caller, request }) => {
        const seen = isId(id) && (await standing({ userId: caller, projectId: id }))
        if (!seen) throw notFound('Project')
        return serve(request, id, etagOf(seen, seen.nameTag), async () => {
          const project = await findProject(id)
          if (!project) throw notFound('Project')
          const etag = etagOf(project, project.nameTag)
          return { etag, body: JSON.stringify(listedView(project)), link: null }
        })
      },
      operation({
        tag,
        summary: 'Get a project',
        answers: { status: 200, schema: ProjectView, description: 'The project' },
        refuses: [404],
        conditional: true,
      }),
    )
    .patch(
      '/:id',
      ({ params: { id }, body, caller, request }) => {
        const wanted = { name: body.name?.trim(), description: optionalText(body.description) }
        return write(request, caller, body, async (conditions) => {
          const owner = await ownerOf(id)
          return actors.run({
            projectId: id,
            caller,
            ...conditions,
            decide: (state, context) => shown(updateProject(state, context, wanted), owner),
          })
        })
      },
      {
        jsonBody: true,
        body: UpdateProjectBody,
        ...operation({
          tag,
          summary: 'Change a project',
          description: 'Absent fields stay, null clears the description. Takes the role ADMIN.',
          answers: { status: 200, schema: ProjectView, description: 'The project as it is now' },
          refuses: [400, 403, 404, 412, 413, 415, 422],
        }),
      },
    )
    .delete(
      '/:id',
      ({ params: { id }, caller, request }) =>
        write(request, caller, null, (conditions) =>
          actors.run({
            projectId: id,
            caller,
            ...conditions,
            decide: (state, context) => saying(deleteProject(state, context), 'Project deleted successfully'),
          }),
        ),
      operation({
        tag,
        summary: 'Delete a project',
        description: 'At once and for good, with everything inside. Only the owner may.',
        answers: { status: 200, schema: Message('Project deleted successfully'), description: 'Deleted' },
        refuses: [400, 403, 404, 412, 422],
      }),
    )
}

const shown = (decided: Decision<ProjectRow>, owner: Person | undefined, status = 200) =>
  showing(decided, (row) => projectView(row, owner), status, owner?.nameTag ?? goneTag)
