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
import { type Entry, tarOf } from './archive.ts'
import { spool, zipped } from './bytes.ts'
import { charge, exportCost } from './charge.ts'
import { fileHeaders, type FileInfo, respondWithFile } from './file-response.ts'
import { docket } from './formats/docket.ts'
import type { ExportsInProgress } from './in-progress.ts'
import { accountDownload, fileName } from './schema.ts'
import { maxTasksOf, openExportedProject, readParts } from './exported-project.ts'
import { openTransaction } from './transaction.ts'
import { projectTexts } from './write-project.ts'

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
      const { ids, maxTasks } = await projectsOf(database.background, caller)
      await charge(services, caller, exportCost(maxTasks))
      const own = {
        account: accountView.of(account),
        tokens: caller.token ? null : await tokensOf(database.reads, caller.userId),
      }
      const { close } = await inProgress.begin(caller, async () => ({ close: async () => {} }))
      // Disables the idle timeout of the server: storing a large project takes longer. The response has its own limits.
      ;(reading as { listener?: IdleServer | null }).listener?.timeout?.(request, 0)
      return respondWithFile(request, {
        ...archive,
        chunks: zipped(tarOf(entriesOf(services, caller, own, ids))),
        close,
        failed: (error) => log.warn({ userId: caller.userId, reason: String(error) }, 'export failed'),
      })
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

async function* entriesOf(
  services: Services,
  caller: Caller,
  own: object,
  projectIds: string[],
): AsyncGenerator<Entry, void, void> {
  const text = new TextEncoder().encode(`${JSON.stringify(own, null, 2)}\n`)
  yield { name: 'account.json', size: text.length, chunks: once(text) }
  for (const projectId of projectIds) {
    const file = await spoolProject(services, caller, projectId)
    if (!file) continue
    try {
      yield { name: file.name, size: file.size, chunks: file.chunks() }
    } finally {
      await file.close()
    }
  }
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

/** Returns undefined for a project that the caller can no longer see. */
async function spoolProject(services: Services, caller: Caller, projectId: string) {
  const { sql, close } = await openTransaction(services.database.exports)
  try {
    const exported = await openExportedProject(services, sql, caller, { projectId })
    const parts = await readParts(exported)
    const name = `${fileName(parts.name)}-${projectId}.${docket.extension}`
    const options = { format: docket, history: false, findPerson: services.findPerson }
    return { name, ...(await spool(projectTexts(exported, parts, options))) }
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return undefined
    throw error
  } finally {
    await close()
  }
}
