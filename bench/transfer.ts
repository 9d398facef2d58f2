import { type Client, openClient } from '../test/support/client.ts'
import { numbers, type Probe, tenths, whole } from './probe.ts'
import { newProject, newUser } from './seed.ts'
import { openTexts } from './texts.ts'
import { repeatUntil, residentMiB, watchMemory } from './usage.ts'

const tasks = 100_000
const rows = 2 * tasks
const [requestEveryMs, calmMs, lookEveryMs] = [10, 15_000, 200]
/** As `npm run web` and the image set it. */
const heap = { BUN_JSC_forceRAMSize: '402653184' }

interface OfProject {
  client: Client
  projectId: string
}

/** An import of a file of 100,000 tasks with a comment each, twice, beside another client; then exports of the project. */
export const transfer: Probe = {
  name: 'transfer',
  async measure({ servers: { url, web, withWorker, pids } }) {
    await web(1)
    const open = async (): Promise<OfProject> => {
      const { id, token } = await newProject(url, await newUser(url))
      return { client: openClient(url, token), projectId: id }
    }
    const [importer, other, file] = [await open(), await open(), csvFile()]
    const { before, during, rates } = await withWorker(async () => {
      const before = await usualP99s(other, Bun.sleep(calmMs))
      const first = secondsOf(importer, file)
      const during = await usualP99s(other, first)
      return {
        before,
        during,
        rates: [rows / (await first), rows / (await secondsOf(importer, file))] as const,
      }
    })
    const exports: { format: string; rowsPerSecond: number; growthMiB: number }[] = []
    for (const format of ['docket', 'ndjson', 'csv']) {
      await web(0)
      await web(1, heap)
      exports.push({ format, ...(await readExport(importer, `${url}/api/v1`, format, pids.web()[0]!)) })
    }
    const each = exports.map(
      ({ format, rowsPerSecond, growthMiB }) =>
        `${format} ${whole(rowsPerSecond)} (the web process grows by ${whole(growthMiB)} MiB)`,
    )
    return {
      headline: `An import writes ${whole(rates[0])} tasks and comments a second.`,
      sentences: [
        `The same file again: ${whole(rates[1])} rows a second. During the first import the p99 of another client is ` +
          `${tenths(during.createP99Ms)} ms instead of ${tenths(before.createP99Ms)} for creates, and ` +
          `${tenths(during.getP99Ms)} ms instead of ${tenths(before.getP99Ms)} for reads.`,
        `Exports of the project in rows a second: ${each.join(', ')}.`,
      ],
      figures: { before, during, rowsPerSecond: rates, exports },
    }
  },
}

/** A CSV file as Jira writes it. */
function csvFile(): Buffer<ArrayBuffer> {
  const words = openTexts()
  const text = (count: number) => words(count).join(' ')
  const lines = numbers(tasks).map((n) => {
    const [status, priority] = [['To Do', 'In Progress', 'Done'][n % 3], ['Low', 'Medium', 'High'][n % 3]]
    const comment = `02/Feb/24 11:00 AM;ada;${text(10)}`
    return `${text(6)},ENG-${n},${status},${priority},${text(12)},01/Feb/24 10:15 AM,bug${n % 50},${comment}`
  })
  const header = 'Summary,Issue key,Status,Priority,Description,Created,Labels,Comment'
  return Buffer.from([header, ...lines].join('\n'))
}

/** Returns the seconds from the upload until the import is done. */
async function secondsOf({ client, projectId }: OfProject, file: Buffer<ArrayBuffer>): Promise<number> {
  const began = performance.now()
  const csv = { 'content-type': 'text/csv' }
  const { status, body } = await client.call('POST', `/projects/${projectId}/imports?source=jira`, file, csv)
  if (status !== 202) throw new Error(`The import was answered ${status}: ${JSON.stringify(body)}`)
  for (;;) {
    const { text } = await client.get(`/imports/${body.id}`)
    const { state } = JSON.parse(text) as { state: string }
    if (state === 'done') return (performance.now() - began) / 1_000
    if (state !== 'queued' && state !== 'running') throw new Error(text)
    await Bun.sleep(lookEveryMs)
  }
}

/** Creates and reads tasks, each up to 100 times a second, until `load` ends. */
async function usualP99s({ client, projectId }: OfProject, load: Promise<unknown>) {
  const { body } = await client.post('/tasks', { projectId, title: 'Draw' })
  const repeat = (request: () => ReturnType<Client['get']>) =>
    repeatUntil(load, requestEveryMs, async () => {
      const { status } = await request()
      if (status >= 300) throw new Error(`A request beside the import was answered ${status}`)
    })
  const [creates, gets] = await Promise.all([
    repeat(() => client.post('/tasks', { projectId, title: 'Oil' })),
    repeat(() => client.get(`/tasks/${body.id}`)),
  ])
  return { createP99Ms: creates.ms(99), getP99Ms: gets.ms(99) }
}

/** Reads an export from a web process that has just started. */
async function readExport({ client, projectId }: OfProject, api: string, format: string, pid: number) {
  await client.get(`/projects/${projectId}`)
  const [before, peak, began] = [residentMiB(pid), watchMemory(pid), performance.now()]
  const headers = { authorization: `Bearer ${client.token}` }
  const response = await fetch(`${api}/projects/${projectId}/export?format=${format}`, { headers })
  if (response.status !== 200) throw new Error(`The export was answered ${response.status}`)
  for await (const _ of response.body!);
  return { rowsPerSecond: rows / ((performance.now() - began) / 1_000), growthMiB: peak() - before }
}
