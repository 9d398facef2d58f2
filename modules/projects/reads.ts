import { notFound } from '../../src/responses/errors.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import { Cursor, Limit, readIdPage, pageOf } from '../../src/reads/pages.ts'
import { etagOf, pathAndQuery, respond } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import type { Query } from '../../src/commands/query.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import {
  type ListedProject,
  openPageEtags,
  openProjects,
  openSeeProject,
  projectsOf,
  projectAt,
} from './queries.ts'
import { projectView } from './schema.ts'

export function listProjects({ database: { reads: sql }, serve }: Services): Query {
  const pageEtag = openPageEtags(sql)
  return {
    about: 'Returns the projects that the caller owns or is a member of, oldest first.',
    input: Input({ limit: Limit(1_000, 1_000), cursor: Cursor() }),
    view: projectView,
    isList: true,
    async read({ request, caller, query }) {
      const { userId, token } = caller
      const wanted = readIdPage(query, 1_000, 1_000)
      const build = async () => {
        const found = await projectsOf(sql, caller, wanted)
        return pageOf(request, found, shown, ({ id }) => [id], found.etag)
      }
      if (token?.projects) return respond(request, await build())
      const etag = (await pageEtag({ userId, ...wanted })) ?? ''
      return serve(request, userId + pathAndQuery(request), etag, build)
    },
  }
}

export function getProject(services: Services): Query {
  const { database, snapshots, serve, versions } = services
  const findProject = openProjects(database.reads)
  const see = openSeeProject(database.reads, versions)
  return {
    about: 'Returns the project with the current name of its owner.',
    input: Input({ asOf: AsOfParameter() }),
    errors: [...snapshots.errors, notFound('Project')],
    view: projectView,
    async read({ request, caller, params: { id = '' }, query: { asOf } }) {
      const seen = await requireVisible(see, caller, id)
      if (asOf !== undefined) {
        const snapshot = await snapshots.find(seen, asOf)
        const row = snapshot && (await snapshots.read(caller, snapshot, (sql) => projectAt(sql, snapshot)))
        if (!row) throw notFound('Project')
        return respond(request, bodyOf(row), snapshot.version)
      }
      const build = async () => {
        const project = await findProject(id)
        if (!project) throw notFound('Project')
        return bodyOf(project)
      }
      return serve(request, id, etagOf(seen, seen.nameTag), build, seen.version)
    },
  }
}

const bodyOf = (project: ListedProject) => {
  return { etag: etagOf(project, project.nameTag), body: JSON.stringify(shown(project)), link: null }
}

function shown(row: ListedProject): object {
  const { ownerName: name, ownerEmail: email, nameTag } = row
  const owner = name !== null && email !== null ? { id: row.ownerId, name, email, nameTag } : undefined
  return projectView.of(row, owner)
}
