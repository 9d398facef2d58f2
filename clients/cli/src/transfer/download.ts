import { constants } from 'node:os'
import { ConnectionError } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { Failure } from '../failure.ts'
import { sizeText, withStatus } from '../terminal/progress.ts'
import { createWriteStream } from 'node:fs'
import { realpath, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

/**
 * Writes a response to a file, or to standard output.
 * @throws ConnectionError if the response ends early, Failure 128 + n after signal n. In both cases no file remains
 */
export async function download(
  cli: Cli,
  open: (signal: AbortSignal) => Promise<Response>,
  file?: string,
): Promise<void> {
  const stop = new AbortController()
  const unlisten = cli.onSignal((name) =>
    stop.abort(new Failure('The export has ended early', 128 + constants.signals[name])),
  )
  try {
    const response = await open(stop.signal)
    const parts = partsOf(response, stop.signal)
    if (file === undefined) return await print(cli, parts)
    const bytes = await save(cli, parts, file)
    const version = response.headers.get('docket-version')
    await cli.err.line(`Wrote ${file}${version ? `: version ${version}` : ''}, ${sizeText(bytes)}`)
  } finally {
    unlisten()
  }
}

async function print({ out }: Cli, parts: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of parts) await out.write(part)
}

/** Returns the number of bytes. */
const save = ({ err }: Cli, parts: AsyncIterable<Uint8Array>, file: string): Promise<number> =>
  withStatus(err, async (show) => {
    let bytes = 0
    const counted = async function* () {
      for await (const part of parts) {
        show(`${sizeText((bytes += part.length))} received`)
        yield part
      }
    }
    await saveFile(file, counted())
    return bytes
  })

async function* partsOf({ body }: Response, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const reader = body!.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read().catch((cause: unknown) => {
        signal.throwIfAborted()
        throw new ConnectionError('The connection was lost before the end of the export', { cause })
      })
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/**
 * Writes a file. The file appears, or replaces the previous file, when it is complete. After an error, nothing remains.
 * Writes directly to a path that is not a regular file, such as /dev/null.
 */
async function saveFile(path: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const isSpecial = await stat(target).then(
    (found) => !found.isFile(),
    () => false,
  )
  if (isSpecial) return pipeline(parts, createWriteStream(target))
  const draft = `${target}.${process.pid}.part`
  try {
    await rm(draft, { force: true })
    await pipeline(parts, createWriteStream(draft, { flags: 'wx' }))
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
