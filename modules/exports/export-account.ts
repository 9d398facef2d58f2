import type { Query } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { ofToken, visibleProjects } from '../../src/reads/visible.ts'
import { HttpError, invalidToken } from '../../src/responses/errors.ts'
import { respondToHead } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { accountById } from '../accounts/queries.ts'
import { accountView } from '../accounts/user.ts'
import { tokensOf } from '../tokens/queries.ts'
import { encoded, unzipped, zipped, type Chunks } from './bytes.ts'
import { charge, exportCost, type ExportsInProgress, nextWaitMs } from './in-progress.ts'
import { fileHeaders, type FileInfo, respondWithFile } from './file-response.ts'
import { docket } from './formats/docket.ts'
import { accountDownload, fileName } from './schema.ts'
import { maxTasksOf, openExportedProject, readParts } from './exported-project.ts'
import { Spool } from './spool.ts'
import { openTransactionAtPlace } from './transaction.ts'
import { projectTexts } from './write-project.ts'
import { createTarPacker } from 'modern-tar'

const archive: FileInfo = { name: 'docket.tar.gz', contentType: 'application/gzip', isCompressed: true }

const about =
  'Returns all data of the caller as one `.tar.gz`: `account.json` with the account and its API tokens (without secrets, and only for a sign-in token), and a file in the format `docket` for each project that the caller may see. Each project is exported as of one version. If an error occurs after the start, the connection is closed early.'

export function exportAccount(services: Services, inProgress: ExportsInProgress): Query {
  const { database, log } = services
  return {
    about,
    view: accountView,
    operation: { id: 'exportAccount', tag: 'Exports' },
    download: accountDownload,
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
        await charge(services, caller, exportCost(maxTasks))
        const own = {
          account: accountView.of(account),
          tokens: caller.token ? null : await tokensOf(database.reads, caller.userId),
        }
        const spoolOne = (id: string) => spoolProject(services, inProgress, caller, id, over.signal)
        // Disables the idle timeout of the server: storing a large project takes longer. The response has its own limits.
        ;(reading as { listener?: IdleServer | null }).listener?.timeout?.(request, 0)
        return respondWithFile(request, {
          ...archive,
          chunks: zipped(tarOf(entriesOf(own, ids, spoolOne))),
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

interface IdleServer {
  timeout?(request: Request, seconds: number): void
}

async function projectsOf(sql: Sql, { userId, token }: Caller) {
  const rows = await sql<{ id: string; maxTasks: number }[]>`
    select p.id, ${maxTasksOf(sql)} as max_tasks from ${visibleProjects(sql, sql`${userId}`, ofToken(sql, token?.projects))} p
    join streams s on s.project_id = p.id order by p.id`
  return { ids: rows.map(({ id }) => id), maxTasks: rows.reduce((sum, one) => sum + one.maxTasks, 0) }
}

type SpoolProject = (id: string) => ReturnType<typeof spoolProject>

async function* entriesOf(
  own: object,
  projectIds: string[],
  spoolOne: SpoolProject,
): AsyncGenerator<Entry, void, void> {
  const text = new TextEncoder().encode(`${JSON.stringify(own, null, 2)}\n`)
  yield { name: 'account.json', size: text.length, chunks: once(text) }
  for (const projectId of projectIds) {
    const file = await spoolOne(projectId)
    if (!file) continue
    try {
      yield { name: file.name, size: file.size, chunks: unzipped(file.spool.chunks()) }
    } finally {
      await file.spool.close()
    }
  }
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

/** Stores a whole project, because an archive has the size of a file before the file. Returns undefined for a project that the caller can no longer see. */
async function spoolProject(
  services: Services,
  inProgress: ExportsInProgress,
  caller: Caller,
  projectId: string,
  over: AbortSignal,
) {
  const { sql, close } = await openTransactionAtPlace(inProgress, services.database.exports, nextWaitMs)
  try {
    const exported = await openExportedProject(services, sql, caller, { projectId })
    const parts = await readParts(exported)
    const name = `${fileName(parts.name)}-${projectId}.${docket.extension}`
    const options = { format: docket, history: false, findPerson: services.findPerson }
    const spool = await Spool.open(inProgress.places, { aheadBytes: Infinity })
    let size = 0
    async function* counted() {
      for await (const bytes of encoded(projectTexts(exported, parts, options))) {
        if (over.aborted) throw new Error('The client has gone')
        size += bytes.length
        yield bytes
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

interface Entry {
  name: string
  size: number
  chunks: Chunks
}

/** Yields a tar archive. An entry is created only after the client has received the previous entries. */
async function* tarOf(entries: AsyncGenerator<Entry, void, void>): Chunks {
  const { readable, controller } = createTarPacker()
  const write = async () => {
    for await (const { name, size, chunks } of entries) {
      const body = controller.add({ name, size, mtime: new Date() }).getWriter()
      for await (const chunk of chunks) await body.write(chunk as Uint8Array)
      await body.close()
    }
    controller.finalize()
  }
  const written = write().catch((error: unknown) => controller.error(error as Error))
  const reader = readable.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      yield value
    }
  } finally {
    // Ends `write`, which closes the current entry.
    await reader.cancel().catch(() => {})
    await written
  }
}
