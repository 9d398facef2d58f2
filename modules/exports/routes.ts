import { type Static, Type } from '@sinclair/typebox'
import { createTarPacker } from 'modern-tar'
import { Flag } from '../../src/batch/operation-schema.ts'
import type { Download, Query, ReadRequest } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import type { RouteServices } from '../../src/routes/guards.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import { ofToken, visibleProjects } from '../../src/reads/visible.ts'
import { badRequest, invalidToken, notFound } from '../../src/responses/errors.ts'
import { baseHeaders, versionHeader } from '../../src/responses/reply.ts'
import { Input, OneOf } from '../../src/schema/input.ts'
import { named, sampleId } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import { accountById } from '../accounts/queries.ts'
import { accountView } from '../accounts/user.ts'
import { projectView } from '../projects/schema.ts'
import { tokensOf } from '../tokens/queries.ts'
import { csvColumns } from './cells.ts'
import { formats, type EventTexts, projectTexts } from './formats.ts'
import { maxTasksOf, openExportedProject } from './project.ts'
import {
  type Chunks,
  type File,
  respondWithFile,
  gzipType,
  unzipped,
  zipped,
  charge,
  type ExportsInProgress,
  openExportsInProgress,
  openSpooled,
  openTemporaryFile,
} from './spool.ts'

/** An ASCII name for a file, such as `analytical-engine`. */
export const fileName = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replace(/^-+|-+$/g, '') || 'project'

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

/** Responds with a file, which counts as a download of the caller until its response ends. */
async function respondWithDownload(
  { log }: Services,
  { downloads }: ExportsInProgress,
  { request, caller }: ReadRequest,
  contentType: string,
  open: () => Promise<Omit<File, 'contentType'>>,
): Promise<Response> {
  if (request.method === 'HEAD')
    return new Response(null, { headers: { ...baseHeaders, 'content-type': contentType } })
  const release = downloads.acquire(caller.userId)
  try {
    const file = await open()
    const close = async (error?: unknown) => {
      if (error) log.warn({ userId: caller.userId, file: file.name, reason: String(error) }, 'export failed')
      try {
        await file.close()
      } finally {
        release()
      }
    }
    return respondWithFile(request, { ...file, contentType, close })
  } catch (error) {
    release()
    throw error
  }
}

/** How long an export waits for a place before its response begins, and how long between the projects of an account. */
const firstWaitMs = 10_000
const nextWaitMs = 120_000

function exportProject(services: Services, inProgress: ExportsInProgress, history: EventTexts): Query {
  const { findRole, findPerson, snapshots } = services
  return {
    about,
    input: ExportQuery,
    view: projectView,
    operation: { id: 'exportProject', tag: 'Exports' },
    download: projectDownload,
    errors: [historyNeedsDocket(), ...snapshots.errors, notFound('Project'), ...inProgress.errors],
    async read(reading) {
      const { caller, params } = reading
      const { id = '' } = params
      const { format: name = 'docket', asOf, ...flags } = reading.query as Static<typeof ExportQuery>
      const hasHistory = flags.history === 'true'
      if (hasHistory && name !== 'docket') throw historyNeedsDocket()
      const project = await requireVisible(findRole, caller, id)
      const format = formats[name]
      const open = async (sql: Sql) => {
        const exported = await openExportedProject(services, sql, caller.userId, id, asOf)
        const { maxTasks, currentVersion, version } = exported
        await charge(services, caller, maxTasks + (hasHistory ? version : 0), currentVersion - version)
        return {
          name: `${fileName(exported.name)}-${version}.${format.extension}`,
          headers: { [versionHeader]: String(version) },
          texts: projectTexts(exported, { format, history: hasHistory && history, findPerson }),
        }
      }
      return respondWithDownload(services, inProgress, reading, format.contentType, async () => {
        const place = await inProgress.takePlace(caller, firstWaitMs)
        const { spool, ...file } = await openSpooled(services, place, project, open)
        return { ...file, chunks: spool.chunks(), close: () => spool.close() }
      })
    },
  }
}

const aboutAccount =
  'Returns all data of the caller as one `.tar.gz`: `account.json` with the account and its API tokens (without secrets, and only for a sign-in token), and a file in the format `docket` for each project that the caller may see. Each project is exported as of one version. If an error occurs after the start, the connection is closed early.'

function exportAccount(services: RouteServices, inProgress: ExportsInProgress): Query {
  const { database } = services
  return {
    about: aboutAccount,
    view: accountView,
    operation: { id: 'exportAccount', tag: 'Exports' },
    download: {
      description: 'The archive',
      headers: ['Content-Disposition'],
      content: { [gzipType]: { schema: named('Archive', Type.String({ format: 'binary' })) } },
    },
    errors: inProgress.errors,
    async read(reading) {
      const { request, caller } = reading
      const account = await accountById(database.reads, caller.userId)
      if (!account) throw invalidToken()
      return respondWithDownload(services, inProgress, reading, gzipType, async () => {
        // Rejects the request if no temporary file can be created.
        await (await openTemporaryFile()).close()
        const { ids, maxTasks } = await projectsOf(database.background, caller)
        await charge(services, caller, maxTasks)
        const tokens = caller.token ? null : await tokensOf(database.reads, caller.userId)
        const own = { account: accountView.of(account), tokens }
        // Disables the idle timeout of the server: storing a large project takes longer. The response has its own limits.
        services.server()?.timeout(request, 0)
        const chunks = zipped(tarOf(entriesOf(services, inProgress, reading, own, ids)))
        return { name: 'docket.tar.gz', chunks, close: () => {} }
      })
    },
  }
}

async function projectsOf(sql: Sql, { userId, token }: Caller) {
  const rows = await sql<{ id: string; maxTasks: number }[]>`
    select p.id, ${maxTasksOf(sql)} as max_tasks from ${visibleProjects(sql, sql`${userId}`, ofToken(sql, token?.projects))} p
    join streams s on s.project_id = p.id order by p.id`
  return { ids: rows.map(({ id }) => id), maxTasks: rows.reduce((sum, one) => sum + one.maxTasks, 0) }
}

interface Entry {
  name: string
  size: number
  chunks: AsyncIterable<Uint8Array> | Uint8Array[]
}

/**
 * Yields a project only after the client has received the previous entries. Stores the whole project in a temporary file,
 * because an archive contains the size of a file before the file. Leaves out projects that the caller can no longer see.
 */
async function* entriesOf(
  services: Services,
  inProgress: ExportsInProgress,
  { caller, request: { signal } }: ReadRequest,
  own: object,
  projectIds: string[],
): AsyncGenerator<Entry, void, void> {
  const text = new TextEncoder().encode(`${JSON.stringify(own, null, 2)}\n`)
  yield { name: 'account.json', size: text.length, chunks: [text] }
  const { findPerson, findRole } = services
  const format = formats.docket
  for (const id of projectIds) {
    let size = 0
    async function* counted(texts: AsyncGenerator<string, void, void>) {
      for await (const text of texts) {
        signal.throwIfAborted()
        size += Buffer.byteLength(text)
        yield text
      }
    }
    const project = await findRole(caller, id)
    if (!project) continue
    const place = await inProgress.takePlace(caller, nextWaitMs)
    const { name, spool } = await openSpooled(services, place, project, async (sql) => {
      const exported = await openExportedProject(services, sql, caller.userId, id)
      const texts = counted(projectTexts(exported, { format, findPerson }))
      return { name: `${fileName(exported.name)}-${id}.${format.extension}`, texts }
    })
    try {
      await spool.filled
      yield { name, size, chunks: unzipped(spool.chunks()) }
    } finally {
      await spool.close()
    }
  }
}

async function* tarOf(entries: AsyncIterable<Entry>): Chunks {
  const { readable, controller } = createTarPacker()
  const writeAll = async () => {
    for await (const { name, size, chunks } of entries) {
      const entry = controller.add({ name, size, mtime: new Date() }).getWriter()
      for await (const chunk of chunks) await entry.write(chunk)
      await entry.close()
    }
    controller.finalize()
  }
  const written = writeAll().catch((error: unknown) => controller.error(error as Error))
  try {
    yield* readable
  } finally {
    // The end of `readable` ends a pending write. Waits until the temporary file of the current entry is closed.
    await written
  }
}

export const exportsOf = (eventTexts: EventTexts): Module => ({
  routes(services) {
    const inProgress = openExportsInProgress()
    return [
      ['get', '/projects/:id/export', exportProject(services, inProgress, eventTexts), 'Export a project'],
      ['get', '/export', exportAccount(services, inProgress), 'Export all my data'],
    ]
  },
})
