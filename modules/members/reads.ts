import { notFound } from '../../src/wire/refusals.ts'
import { isId } from '../../src/ids.ts'
import { AsOfParameter, pinned } from '../../src/log/as-of.ts'
import { digested } from '../../src/wire/etags.ts'
import { Cursor, Limit, cut, idPage, pageOf } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { pathOf } from '../../src/wire/answers.ts'
import { Parameters } from '../../src/commands/input.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { type ListedMember, membersOf, membersThen } from './queries.ts'
import { memberView } from './schema.ts'

/** What may be asked of members. */
export function memberReads({ database, findRole, moments, serve }: Services) {
  const list: Query = {
    about: 'Everyone invited, in that order; the owner is not among them.',
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor(), asOf: AsOfParameter() }),
    shows: memberView,
    isList: true,
    refuses: [...moments.refuses, notFound('Project')],
    async read({ request, caller, query, params: { id = '' } }) {
      const asked = idPage(query, 50, 200)
      const seen = isId(id) && (await findRole(caller, id))
      if (!seen) throw notFound('Project')
      if (query.asOf !== undefined) {
        const moment = await moments.find(seen, query.asOf)
        if (!moment) throw notFound('Project')
        const rows = await moments.read(caller, moment, (sql) => membersThen(sql, moment, asked))
        const shows = cut(rows, asked.limit)
        const page = pageOf(pinned(request, moment), shows, shown, (row) => [row.id])
        return digested(request, page, moment.version)
      }
      const etag = etagAt(seen, `.${seen.renaming}`)
      const build = async () => {
        const rows = await membersOf(database.reads, id, asked)
        return pageOf(request, cut(rows, asked.limit), shown, (row) => [row.id], etag)
      }
      return serve(request, pathOf(request), etag, build, seen.version)
    },
  }
  return { list }
}

function shown({ userName: name, userEmail: email, ...row }: ListedMember): object {
  const user = name !== null && email !== null ? { id: row.userId, name, email, nameTag: '' } : undefined
  return memberView.of(row, user)
}
