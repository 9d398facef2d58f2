import { get, post, send } from './load.ts'
import { numbers, type Probe, tenths, whole } from './probe.ts'
import { createOf, getTask, newProject, newTask, newUser, type ResourceRef } from './seed.ts'
import { openWords } from './large-data.ts'
import { repeatUntil, residentMiB, watchMemory } from './usage.ts'

const tasks = 100_000
const rows = 2 * tasks
const [requestEveryMs, calmMs, pollEveryMs] = [10, 15_000, 200]
/** As `npm run web` and the image set it. */
const heap = { BUN_JSC_forceRAMSize: '402653184' }

/** An import of a file of 100,000 tasks with a comment each, twice, beside another client; then exports of the project. */
export const transfer: Probe = {
  name: 'transfer',
  async measure({ servers: { url, web, withWorker, pids } }) {
    const open = async () => newProject(url, await newUser(url))
    const [importer, other, file] = [await open(), await open(), csvFile()]
    const { before, during, rates } = await withWorker(async () => {
      const before = await usualP99s(url, other, Bun.sleep(calmMs))
      const first = secondsOf(url, importer, file)
      const during = await usualP99s(url, other, first)
      return { before, during, rates: [rows / (await first), rows / (await secondsOf(url, importer, file))] }
    })
    const exports = await Array.fromAsync(['docket', 'ndjson', 'csv'], async (format) => {
      await web(0)
      await web(1, heap)
      return { format, ...(await readExport(url, importer, format, pids.web()[0]!)) }
    })
    const each = exports.map(
      ({ format, rowsPerSecond, growthMiB }) =>
        `${format} ${whole(rowsPerSecond)} (the web process grows by ${whole(growthMiB)} MiB)`,
    )
    return {
      headline: `An import writes ${whole(rates[0]!)} tasks and comments a second.`,
      sentences: [
        `The same file again: ${whole(rates[1]!)} rows a second. During the first import the p99 of another client is ` +
          `${tenths(during.createP99Ms)} ms instead of ${tenths(before.createP99Ms)} for creates, and ` +
          `${tenths(during.getP99Ms)} ms instead of ${tenths(before.getP99Ms)} for reads.`,
        `Exports of the project in rows a second: ${each.join(', ')}.`,
      ],
      figures: { before, during, rowsPerSecond: rates, exports },
    }
  },
}

/** A CSV file as Jira writes it. */
function csvFile(): Buffer {
  const words = openWords()
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
async function secondsOf(url: string, { id, token }: ResourceRef, file: Buffer): Promise<number> {
  const began = performance.now()
  const upload = post(`/projects/${id}/imports?source=jira`, token, file)
  const { body } = await send(url, { ...upload, headers: { 'content-type': 'text/csv' } })
  for (;;) {
    const { text } = await send(url, get(`/imports/${body.id}`, token))
    const { state } = JSON.parse(text) as { state: string }
    if (state === 'done') return (performance.now() - began) / 1_000
    if (state !== 'queued' && state !== 'running') throw new Error(text)
    await Bun.sleep(pollEveryMs)
  }
}

/** Creates and reads tasks, each up to 100 times a second, until `load` ends. */
async function usualP99s(url: string, project: ResourceRef, load: Promise<unknown>) {
  const task = await newTask(url, project)
  const sends = [createOf(project), getTask(task)].map((one) => () => send(url, one))
  const [creates, gets] = await repeatUntil(load, requestEveryMs, sends)
  return { createP99Ms: creates!.ms(99), getP99Ms: gets!.ms(99) }
}

/** Reads an export from a web process that has just started. */
async function readExport(url: string, { id, token }: ResourceRef, format: string, pid: number) {
  await send(url, get(`/projects/${id}`, token))
  const [before, peak, began] = [residentMiB(pid), watchMemory(pid), performance.now()]
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/v1/projects/${id}/export?format=${format}`, { headers })
  if (response.status !== 200) throw new Error(`The export was answered ${response.status}`)
  for await (const _ of response.body!);
  return { rowsPerSecond: rows / ((performance.now() - began) / 1_000), growthMiB: peak() - before }
}
