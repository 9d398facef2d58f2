import { constants } from 'node:os'
import { type Docket, DocketError, type Import } from '../../../typescript/src/index.ts'
import type { Cli, SignalName } from '../cli.ts'
import { exitCodeOf, exitCodes, Failure } from '../failure.ts'
import { bar, withStatus } from '../terminal/progress.ts'

/**
 * Waits for the end of an import, or of its undo. Shows the progress on a terminal.
 * @throws Failure 128 + n after signal n, which ends only the wait
 */
export async function importEnded(cli: Cli, docket: Docket, id: string): Promise<Import> {
  const stop = new AbortController()
  let signal: SignalName | undefined
  const unlisten = cli.onSignal((name) => {
    signal = name
    stop.abort()
  })
  try {
    return await withStatus(cli.err, async (show) => {
      let last: Import | undefined
      for await (last of docket.imports.follow(id, { signal: stop.signal })) show(progressOf(last))
      return last ?? docket.imports.get(id)
    })
  } catch (error) {
    throw waitFailed(id, error, signal)
  } finally {
    unlisten()
  }
}

function progressOf({ state, progress, counts, undo }: Import): string {
  if (undo) return `${undo.undone} tasks undone`
  return state === 'queued' ? 'waiting for a worker' : `${bar(progress)} ${counts.read} tasks`
}

function waitFailed(id: string, error: unknown, signal?: SignalName): Failure {
  const next = `docket imports ${id} --wait waits for its end, docket imports ${id} --cancel cancels it`
  if (signal) return new Failure(`The import continues: ${next}`, 128 + constants.signals[signal])
  const code = error instanceof DocketError ? exitCodeOf(error.status) : exitCodes.error
  return new Failure(`${error instanceof Error ? error.message : error}. The import continues: ${next}`, code)
}
