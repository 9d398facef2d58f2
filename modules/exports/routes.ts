import { type Static, Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { createTarPacker, type TarPackController } from 'modern-tar'
import { Flag } from '../../src/batch/operation-schema.ts'
import type { Download, Query } from '../../src/commands/query.ts'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { ofToken, visibleProjects } from '../../src/reads/visible.ts'
import { badRequest, HttpError, invalidToken, notFound } from '../../src/responses/errors.ts'
import { respondToHead, versionHeader } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import { named, sampleId } from '../../src/schema/response.ts'
import { OneOf } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { accountById } from '../accounts/queries.ts'
import { accountView } from '../accounts/user.ts'
import { projectView } from '../projects/schema.ts'
import { tokensOf } from '../tokens/queries.ts'
import { csvColumns } from './cells.ts'
import { formats } from './formats.ts'
import { type ExportedProject, maxTasksOf, openExportedProject, readName, readParts } from './project.ts'
import { type Chunks, fileHeaders, type FileInfo, respondWithFile, unzipped, zipped } from './response.ts'
import { Spool } from './spool.ts'
import {
  charge,
  type ExportsInProgress,
  nextWaitMs,
  openExportsInProgress,
  openSpooled,
  openTransaction,
} from './transaction.ts'
import { type EventTexts, fileName, projectTexts } from './write.ts'

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

function exportProject(services: Services, inProgress: ExportsInProgress, eventTexts: EventTexts): Query {
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
      const project = await requireVisible(findRole, caller, id)
      const format = formats[name]
      const { extension, contentType } = format
      const info = ({ version }: ExportedProject, title: string) => ({
        ...{ name: `${fileName(title)}-${version}.${extension}`, contentType },
        headers: { [versionHeader]: String(version) },
      })
      const open = (sql: Sql) => openExportedProject(services, sql, caller.userId, { projectId: id, asOf })
      if (request.method === 'HEAD') {
        const exported = await open(database.expensive)
        await charge(services, caller, 0, exported.currentVersion - exported.version)
        return respondToHead(fileHeaders(request, info(exported, await readName(exported))))
      }
      const release = downloads.acquire(caller.userId)
      try {
        const found = await openSpooled(services, places, project, async (sql) => {
          const exported = await open(sql)
          const { maxTasks, currentVersion, version } = exported
          await charge(services, caller, maxTasks + (history ? version : 0), currentVersion - version)
          const parts = await readParts(exported)
          const texts = projectTexts(exported, parts, { format, history: history && eventTexts, findPerson })
          return { exported, title: parts.name, texts }
        })
        const { exported, title, spool } = found
        return respondWithFile(request, {
          ...info(exported, title),
          chunks: spool.chunks(),
          close: () => spool.close().finally(release),
          failed: (error) => log.warn({ projectId: id, reason: String(error) }, 'export failed'),
        })
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

const archive: FileInfo = { name: 'docket.tar.gz', contentType: 'application/gzip', isCompressed: true }

const aboutAccount =
  'Returns all data of the caller as one `.tar.gz`: `account.json` with the account and its API tokens (without secrets, and only for a sign-in token), and a file in the format `docket` for each project that the caller may see. Each project is exported as of one version. If an error occurs after the start, the connection is closed early.'

interface IdleServer {
  timeout?(request: Request, seconds: number): void
}

function exportAccount(services: Services, inProgress: ExportsInProgress): Query {
  const { database, log } = services
  return {
    about: aboutAccount,
    view: accountView,
    operation: { id: 'exportAccount', tag: 'Exports' },
    download: {
      description: 'The archive',
      headers: ['Content-Disposition'],
      content: { 'application/gzip': { schema: named('Archive', Type.String({ format: 'binary' })) } },
    },
    errors: inProgress.errors,
    async read(reading) {
      const { request, caller } = reading
      const account = await accountById(database.reads, caller.userId)
      if (!account) throw invalidToken()
      if (request.method === 'HEAD') return respondToHead(fileHeaders(request, archive))
      const over = new AbortController()
      const release = inProgress.downloads.acquire(caller.userId)
      const close = async () => {
        over.abort()
        release()
      }
      try {
        // Rejects the request if no temporary file can be created.
        await (await Spool.open(inProgress.places)).close()
        const { ids, maxTasks } = await projectsOf(database.background, caller)
        await charge(services, caller, maxTasks)
        const tokens = caller.token ? null : await tokensOf(database.reads, caller.userId)
        const own = { account: accountView.of(account), tokens }
        const spoolOne = (id: string) => spoolProject(services, inProgress, caller, id, over.signal)
        // Disables the idle timeout of the server: storing a large project takes longer. The response has its own limits.
        ;(reading as { listener?: IdleServer | null }).listener?.timeout?.(request, 0)
        return respondWithFile(request, {
          ...archive,
          chunks: zipped(tarOf((tar) => writeAll(tar, own, ids, spoolOne))),
          close,
          failed: (error) => log.warn({ userId: caller.userId, reason: String(error) }, 'export failed'),
        })
      } catch (error) {
        await close()
        throw error
      }
    },
  }
}

async function projectsOf(sql: Sql, { userId, token }: Caller) {
  const rows = await sql<{ id: string; maxTasks: number }[]>`
    select p.id, ${maxTasksOf(sql)} as max_tasks from ${visibleProjects(sql, sql`${userId}`, ofToken(sql, token?.projects))} p
    join streams s on s.project_id = p.id order by p.id`
  return { ids: rows.map(({ id }) => id), maxTasks: rows.reduce((sum, one) => sum + one.maxTasks, 0) }
}

/**
 * Stores a whole project in a temporary file, because an archive contains the size of a file before the file. Returns
 * undefined for a project that the caller can no longer see.
 */
async function spoolProject(
  services: Services,
  { places }: ExportsInProgress,
  caller: Caller,
  projectId: string,
  over: AbortSignal,
) {
  const { findPerson, findRole } = services
  const project = await findRole(caller, projectId)
  if (!project) return undefined
  const { sql, close } = await openTransaction(services, places, project, nextWaitMs)
  try {
    const exported = await openExportedProject(services, sql, caller.userId, { projectId })
    const parts = await readParts(exported)
    const format = formats.docket
    const name = `${fileName(parts.name)}-${projectId}.${format.extension}`
    const spool = await Spool.open(places, { aheadBytes: Infinity })
    let size = 0
    async function* counted() {
      for await (const text of projectTexts(exported, parts, { format, findPerson })) {
        if (over.aborted) throw new Error('The client has gone')
        size += Buffer.byteLength(text)
        yield text
      }
    }
    await spool.fill(zipped(counted()))
    return { name, size, spool }
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return undefined
    throw error
  } finally {
    await close()
  }
}

/** Writes one entry after another. An entry is created only after the client has received the previous entries. */
async function writeAll(
  tar: TarPackController,
  own: object,
  projectIds: string[],
  spoolOne: (id: string) => ReturnType<typeof spoolProject>,
): Promise<void> {
  const add = (name: string, size: number) => tar.add({ name, size, mtime: new Date() }).getWriter()
  const text = new TextEncoder().encode(`${JSON.stringify(own, null, 2)}\n`)
  const first = add('account.json', text.length)
  await first.write(text)
  await first.close()
  for (const projectId of projectIds) {
    const file = await spoolOne(projectId)
    if (!file) continue
    try {
      const entry = add(file.name, file.size)
      for await (const chunk of unzipped(file.spool.chunks())) await entry.write(chunk)
      await entry.close()
    } finally {
      await file.spool.close()
    }
  }
}

async function* tarOf(writeEntries: (tar: TarPackController) => Promise<void>): Chunks {
  const { readable, controller } = createTarPacker()
  const written = writeEntries(controller).then(
    () => controller.finalize(),
    (error: unknown) => controller.error(error as Error),
  )
  try {
    yield* readable
  } finally {
    // `writeEntries` always ends now: the end of `readable` ends its pending write. The wait lets it close the
    // temporary file of the current entry.
    await written
  }
}

export function exportRoutes(
  { callerGuard, queryRoute }: RouteBuilders,
  services: Services,
  eventTexts: EventTexts,
) {
  const inProgress = openExportsInProgress()
  return (
    new Elysia()
      .use(callerGuard)
      .get(
        ...queryRoute(
          '/projects/:id/export',
          exportProject(services, inProgress, eventTexts),
          'Export a project',
        ),
      )
      // Elysia adds the server to the context only for a function that names it.
      .derive(({ server }) => ({ listener: server }))
      .get(...queryRoute('/export', exportAccount(services, inProgress), 'Export all my data'))
  )
}
