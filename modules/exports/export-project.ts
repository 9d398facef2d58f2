import type { Query } from '../../src/commands/query.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { notFound } from '../../src/responses/errors.ts'
import { versionHeader } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { projectView } from '../projects/schema.ts'
import { charge, exportCost } from './charge.ts'
import type { ExportsInProgress } from './in-progress.ts'
import { respondWithFile } from './file-response.ts'
import { ExportQuery, fileName, formats, historyNeedsDocket, projectDownload } from './schema.ts'
import { openSource, readParts, type Source } from './source.ts'
import { asTemporary, openTransaction } from './transaction.ts'
import { projectTexts } from './write-project.ts'

const costOf = ({ lastNumber, currentVersion, version }: Source, history: boolean): number =>
  exportCost(lastNumber + (history ? version : 0), currentVersion - version)

const about =
  'Returns the project as a file, as of one version, which the header Docket-Version names. The file is compressed if the client accepts gzip. If an error occurs after the start, the connection is closed early. An account can run one export at a time.'

export function exportProject(services: Services, inProgress: ExportsInProgress): Query {
  const { findRole, findPerson, database, log, snapshots } = services
  return {
    about,
    input: ExportQuery,
    view: projectView,
    operation: { id: 'exportProject', tag: 'Exports' },
    download: projectDownload,
    errors: [historyNeedsDocket(), ...snapshots.errors, notFound('Project'), ...inProgress.errors],
    async read({ request, caller, params: { id = '' }, query }) {
      const { format: name = 'docket', asOf, history: flag } = query as ExportQuery
      const history = flag === 'true'
      if (history && name !== 'docket') throw historyNeedsDocket()
      await requireVisible(findRole, caller, id)
      const opened = await inProgress.begin(caller, () => openTransaction(database.exports))
      try {
        const source = await openSource(services, opened.sql, caller, { projectId: id, asOf })
        await charge(services, caller, costOf(source, history))
        const parts = await readParts(source)
        const format = formats[name]
        return respondWithFile(request, {
          name: `${fileName(parts.name)}-${source.version}.${format.extension}`,
          contentType: format.contentType,
          headers: { [versionHeader]: String(source.version) },
          chunks: projectTexts(source, parts, { format, history, findPerson }),
          close: opened.close,
          failed: (error) => log.warn({ projectId: id, reason: String(error) }, 'export failed'),
        })
      } catch (error) {
        await opened.close()
        throw asTemporary(error)
      }
    },
  }
}
