import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'hdr-histogram-js'
import { type Client, openClient } from '../test/support/client.ts'
import { type ExportFigures, exportSentence, measureExports } from './export.ts'
import { importFile, importSizes } from './import-file.ts'
import type { Bench } from './measure.ts'

/** Milliseconds of another client, which creates and reads tasks of its own project. */
interface OtherClient {
  createP99Ms: number
  getP99Ms: number
}

export interface ImportFigures {
  fileMiB: number
  seconds: number
  /** Tasks and comments a second, from the upload to the end. */
  rowsPerSecond: number
  before: OtherClient
  during: OtherClient
  /** The second import of the same file, which changes nothing. */
  againRowsPerSecond: number
  exports: ExportFigures[]
  failures: string[]
}

const requestEveryMs = 10
const calmMs = 15_000
const lookEveryMs = 200
/** As `npm run web` and the image set it. */
const heap = { BUN_JSC_forceRAMSize: '402653184' }

/** Imports a file with 100,000 tasks and a comment of each, twice, beside another client. Then exports the project. */
export async function measureImport({ servers }: Pick<Bench, 'servers'>): Promise<ImportFigures> {
  await servers.web(1)
  const [importer, other] = await Promise.all([newClient(servers.url), newClient(servers.url)])
  const file = importFile()
  const imported = await servers.withWorker(async () => {
    const before = await usualRequests(other, sleep(calmMs))
    const first = importInto(importer, file)
    const during = await usualRequests(other, first)
    const seconds = await first
    const again = await importInto(importer, file)
    return {
      ...{ fileMiB: file.length / 1_048_576, seconds, rowsPerSecond: importSizes.rows / seconds },
      ...{ before, during, againRowsPerSecond: importSizes.rows / again, failures: [] },
    }
  })
  const exported = { ...importer, url: servers.url, rows: importSizes.rows }
  const restartWeb = async () => {
    await servers.web(0)
    await servers.web(1, heap)
    return servers.pids.web()[0]!
  }
  return { ...imported, exports: await measureExports(exported, restartWeb) }
}

interface OfProject {
  client: Client
  projectId: string
}

async function newClient(url: string): Promise<OfProject> {
  const email = `import-${Date.now()}-${Math.random()}@example.com`
  const user = { name: 'Grace', email, password: 'secret-1' }
  const { body } = await openClient(url).post('/auth/register', user)
  const client = openClient(url, body.access_token)
  return { client, projectId: (await client.post('/projects', { name: 'Imported' })).body.id }
}

/** Returns the seconds until the import is done. */
async function importInto({ client, projectId }: OfProject, file: Buffer<ArrayBuffer>): Promise<number> {
  const began = performance.now()
  const { status, body } = await client.call('POST', `/projects/${projectId}/imports?source=jira`, file, {
    'content-type': 'text/csv',
  })
  if (status !== 202) throw new Error(`The import was answered ${status}: ${JSON.stringify(body)}`)
  for (;;) {
    const row = (await client.get(`/imports/${body.id}`)).body as unknown as { state: string; counts: object }
    if (row.state === 'done') return (performance.now() - began) / 1_000
    if (row.state !== 'queued' && row.state !== 'running') throw new Error(JSON.stringify(row))
    await sleep(lookEveryMs)
  }
}

/** Creates and reads tasks, each up to 100 times a second, until `load` ends. */
async function usualRequests({ client, projectId }: OfProject, load: Promise<unknown>): Promise<OtherClient> {
  let isOver = false
  void load.catch(() => {}).finally(() => (isOver = true))
  const { body } = await client.post('/tasks', { projectId, title: 'Draw' })
  const repeat = async (request: () => ReturnType<Client['get']>) => {
    const times = build()
    while (!isOver) {
      const began = performance.now()
      const { status } = await request()
      if (status >= 300) throw new Error(`A request beside the import was answered ${status}`)
      times.recordValue(Math.round((performance.now() - began) * 1_000))
      await sleep(Math.max(1, began + requestEveryMs - performance.now()))
    }
    return times.getValueAtPercentile(99) / 1_000
  }
  const [createP99Ms, getP99Ms] = await Promise.all([
    repeat(() => client.post('/tasks', { projectId, title: 'Oil' })),
    repeat(() => client.get(`/tasks/${body.id}`)),
  ])
  return { createP99Ms, getP99Ms }
}

export const importSentence = (figures: ImportFigures): string => {
  const { fileMiB, seconds, rowsPerSecond, againRowsPerSecond, before, during, exports } = figures
  const ratio = (name: keyof OtherClient) =>
    `${during[name].toFixed(1)} ms instead of ${before[name].toFixed(1)}`
  return (
    `The import of 100,000 tasks with a comment each (${fileMiB.toFixed(0)} MiB of CSV) takes ${seconds.toFixed(0)} s: ` +
    `${Math.round(rowsPerSecond)} rows a second; the same file again ${Math.round(againRowsPerSecond)}. ` +
    `Meanwhile the p99 of another client is ${ratio('createP99Ms')} for creates, ${ratio('getP99Ms')} for reads. ` +
    exportSentence(exports)
  )
}
