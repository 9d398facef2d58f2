import { type Static, Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { Flag } from '../../src/batch/operation-schema.ts'
import type { Download, Query } from '../../src/commands/query.ts'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { badRequest, notFound } from '../../src/responses/errors.ts'
import { respondToHead, versionHeader } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import { named, sampleId } from '../../src/schema/response.ts'
import { OneOf } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { projectView } from '../projects/schema.ts'
import { exportAccount } from './account.ts'
import { csvColumns } from './cells.ts'
import { formats } from './formats.ts'
import { type ExportedProject, openExportedProject, readName, readParts } from './project.ts'
import { fileHeaders, respondWithFile, zipped } from './response.ts'
import { Spool } from './spool.ts'
import {
  asTemporary,
  charge,
  type ExportsInProgress,
  firstWaitMs,
  openExportsInProgress,
  openTransaction,
  type Transaction,
} from './transaction.ts'
import { fileName, projectTexts } from './write.ts'

const names = Object.keys(formats) as (keyof typeof formats)[]
const aboutFormats =
  'docket is complete; ndjson has a task for each line; csv has a task for each row. Default: docket'

const ExportQuery = Input({
  format: Type.Optional(OneOf('ExportFormat', names, aboutFormats)),
  asOf: AsOfParameter(),
  history: Flag('History', 'true adds all events; only with the format docket'),
})

const historyNeedsDocket = () => badRequest('format must be docket if history is true')

const projectDownload: Download = {
  description: 'The file',
  headers: ['Content-Encoding', 'Content-Disposition', 'Docket-Version'],
  content: {
    'application/x-ndjson': {
      schema: named('LinesOfJson', Type.String()),
      example: `{"docket":1,"project":{"id":"${sampleId}","name":"Engine"},"version":42,"exportedAt":"2027-01-31T17:00:00.000Z"}\n{"kind":"label","name":"bug"}\n{"kind":"end","lines":3}\n`,
    },
    'text/csv': {
      schema: named('CommaSeparatedValues', Type.String()),
      example: `${csvColumns.slice(0, 6).join()}\r\n${sampleId},1,Draw the plate,,TODO,HIGH\r\n`,
    },
  },
}

const about =
  'Returns the project as a file, as of one version, which the header Docket-Version names. The file is compressed if the client accepts gzip. If an error occurs after the start, the connection is closed early. An account can run one export at a time.'

function exportProject(services: Services, inProgress: ExportsInProgress): Query {
  const { findRole, findPerson, database, log, snapshots } = services
  const { downloads, places } = inProgress
  return {
    about,
    input: ExportQuery,
    view: projectView,
    operation: { id: 'exportProject', tag: 'Exports' },
    download: projectDownload,
    errors: [historyNeedsDocket(), ...snapshots.errors, notFound('Project'), ...inProgress.errors],
    async read({ request, caller, params: { id = '' }, query }) {
      const { format: name = 'docket', asOf, history: flag } = query as Static<typeof ExportQuery>
      const history = flag === 'true'
      if (history && name !== 'docket') throw historyNeedsDocket()
      await requireVisible(findRole, caller, id)
      const format = formats[name]
      const { extension, contentType } = format
      const info = ({ version }: ExportedProject, title: string) => ({
        ...{ name: `${fileName(title)}-${version}.${extension}`, contentType },
        headers: { [versionHeader]: String(version) },
      })
      const open = (sql: Transaction['sql']) =>
        openExportedProject(services, sql, caller.userId, { projectId: id, asOf })
      if (request.method === 'HEAD') {
        const exported = await open(database.expensive)
        await charge(services, caller, 0, exported.currentVersion - exported.version)
        return respondToHead(fileHeaders(request, info(exported, await readName(exported))))
      }
      const release = downloads.acquire(caller.userId)
      let reading: Transaction | undefined
      try {
        reading = await openTransaction(places, database.exports, firstWaitMs)
        const exported = await open(reading.sql)
        const { maxTasks, currentVersion, version } = exported
        await charge(services, caller, maxTasks + (history ? version : 0), currentVersion - version)
        const parts = await readParts(exported)
        const spool = await Spool.open(places)
        const texts = projectTexts(exported, parts, { format, history, findPerson })
        void spool.fill(zipped(texts)).then(reading.close)
        return respondWithFile(request, {
          ...info(exported, parts.name),
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

export function exportRoutes({ callerGuard, queryRoute }: RouteBuilders, services: Services) {
  const inProgress = openExportsInProgress()
  return (
    new Elysia()
      .use(callerGuard)
      .get(...queryRoute('/projects/:id/export', exportProject(services, inProgress), 'Export a project'))
      // Elysia adds the server to the context only for a function that names it.
      .derive(({ server }) => ({ listener: server }))
      .get(...queryRoute('/export', exportAccount(services, inProgress), 'Export all my data'))
  )
}
