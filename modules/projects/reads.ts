import { notFound } from '../../src/wire/refusals.ts'
import { isId } from '../../src/ids.ts'
import { Cursor, Limit, idPage, pageOf } from '../../src/reads/pages.ts'
import { etagOf, pathOf } from '../../src/wire/answers.ts'
import { Parameters } from '../../src/commands/input.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { type ListedProject, openPageEtags, openProjects, projectsOf } from './queries.ts'
import { projectView } from './schema.ts'

/** What may be asked of projects. */
export function projectReads({ database, findRole, serve }: Services) {
  const sql = database.reads
  const findProject = openProjects(sql)
  const pageEtag = openPageEtags(sql)

  const list: Query = {
    about: 'Those the caller owns or is a member of, oldest first.',
    input: Parameters({ limit: Limit(1_000, 1_000), cursor: Cursor() }),
    shows: projectView,
    isList: true,
    async read({ request, caller: { userId }, query }) {
      const asked = idPage(query, 1_000, 1_000)
      const etag = (await pageEtag({ userId, ...asked })) ?? ''
      return serve(request, userId + pathOf(request), etag, async () => {
        const found = await projectsOf(sql, userId, asked)
        return pageOf(request, found, shown, ({ id }) => [id], found.etag)
      })
    },
  }

  const get: Query = {
    about: 'With its owner, as they are called now.',
    refuses: [notFound('Project')],
    shows: projectView,
    async read({ request, caller: { userId }, params: { id = '' } }) {
      const seen = isId(id) && (await findRole({ userId, projectId: id }))
      if (!seen) throw notFound('Project')
      const build = async () => {
        const project = await findProject(id)
        if (!project) throw notFound('Project')
        const etag = etagOf(project, project.nameTag)
        return { etag, body: JSON.stringify(shown(project)), link: null }
      }
      return serve(request, id, etagOf(seen, seen.nameTag), build, seen.version)
    },
  }
  return { list, get }
}

function shown(row: ListedProject): object {
  const { ownerName: name, ownerEmail: email, nameTag } = row
  const owner = name !== null && email !== null ? { id: row.ownerId, name, email, nameTag } : undefined
  return projectView.of(row, owner)
}
