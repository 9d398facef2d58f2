import { Parameters } from '../../src/schema/input.ts'
import type { Query } from '../../src/commands/query.ts'
import { requireSeen } from '../../src/reads/lookups.ts'
import { Cursor, cut, idPage, Limit, pageOf } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import type { Services } from '../../src/services.ts'
import { pathOf } from '../../src/wire/answers.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { serviceAccountsOf } from './queries.ts'
import { serviceAccountView } from './schema.ts'

/** What may be asked of service accounts. */
export function serviceAccountReads({ database, findRole, serve }: Services) {
  const list: Query = {
    about: 'Oldest first. They are among the members too.',
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor() }),
    shows: serviceAccountView,
    isList: true,
    refuses: [notFound('Project')],
    async read({ request, caller, query, params: { id = '' } }) {
      const asked = idPage(query, 50, 200)
      const seen = await requireSeen(findRole, caller, id)
      const etag = etagAt(seen, `.${seen.renaming}`)
      const build = async () => {
        const rows = await serviceAccountsOf(database.reads, id, asked)
        return pageOf(request, cut(rows, asked.limit), serviceAccountView.of, (row) => [row.id], etag)
      }
      return serve(request, pathOf(request), etag, build, seen.version)
    },
  }
  return { list }
}
