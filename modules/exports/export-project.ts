import type { Query } from '../../src/commands/query.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondToHead, versionHeader } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { projectView } from '../projects/schema.ts'
import { zipped } from './bytes.ts'
import { charge, exportCost, type ExportsInProgress, firstWaitMs } from './in-progress.ts'
import { fileHeaders, type FileInfo, respondWithFile } from './file-response.ts'
import type { Format } from './formats/format.ts'
import { ExportQuery, fileName, formats, historyNeedsDocket, projectDownload } from './schema.ts'
import { openExportedProject, readName, readParts, type ExportedProject } from './exported-project.ts'
import { Spool } from './spool.ts'
import { asTemporary, openTransactionAtPlace, type Transaction } from './transaction.ts'
import { projectTexts } from './write-project.ts'

const costOf = ({ maxTasks, currentVersion, version }: ExportedProject, history: boolean): number =>
  exportCost(maxTasks + (history ? version : 0), currentVersion - version)

const infoOf = (
  { version }: ExportedProject,
  name: string,
  { extension, contentType }: Format,
): FileInfo => ({
  name: `${fileName(name)}-${version}.${extension}`,
  contentType,
  headers: { [versionHeader]: String(version) },
})

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
      const [format, wanted] = [formats[name], { projectId: id, asOf }]
      if (request.method === 'HEAD') {
        const exported = await openExportedProject(services, database.expensive, caller, wanted)
        await charge(services, caller, exportCost(0, exported.currentVersion - exported.version))
        return respondToHead(fileHeaders(request, infoOf(exported, await readName(exported), format)))
      }
      const release = inProgress.downloads.acquire(caller.userId)
      let reading: Transaction | undefined
      try {
        reading = await openTransactionAtPlace(inProgress, database.exports, firstWaitMs)
        const exported = await openExportedProject(services, reading.sql, caller, wanted)
        await charge(services, caller, costOf(exported, history))
        const parts = await readParts(exported)
        const spool = await Spool.open(inProgress.places)
        void spool
          .fill(zipped(projectTexts(exported, parts, { format, history, findPerson })))
          .then(reading.close)
        return respondWithFile(request, {
          ...infoOf(exported, parts.name, format),
          chunks: spool.chunks(),
          close: () => spool.close().finally(release),
          failed: (error) => log.warn({ projectId: id, reason: String(error) }, 'export failed'),
        })
      } catch (error) {
        await reading?.close()
        release()
        throw asTemporary(error)
      }
    },
  }
}
