import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type LimitScript, runLoop } from './sql-loop.ts'
import { runTool, versionOf } from './tool.ts'

/** The limit of the database alone: transactions per second, one for each request. */
export interface LimitRun {
  requests: number
  perSecond: number
  errors: string[]
}

export interface Limiter {
  name: string
  run(scripts: LimitScript[], clients: number, seconds: number): Promise<LimitRun>
}

// The first seconds are not counted, because pgbench connects in them and first statements are slow. One second more,
// because the progress may lack the last second.
const warmUpSeconds = 2

// Generic plans from the start, as after the first executions.
const settings = '-c plan_cache_mode=force_generic_plan -c jit=off'

/** Runs `pgbench` if it is installed, else a closed loop through postgres.js. */
export async function openLimiter(databaseUrl: string, folder: string): Promise<Limiter> {
  const version = await versionOf('pgbench', '--version')
  if (!version) {
    const name = 'a closed loop through postgres.js (pgbench is not installed)'
    return { name, run: (scripts, clients, seconds) => runLoop(databaseUrl, scripts, clients, seconds) }
  }
  return {
    name: `pgbench ${version}`,
    async run(scripts, clients, seconds) {
      const files = await Promise.all(
        scripts.map(async ({ share, text }, n) => {
          const file = join(folder, `limit-${n}.sql`)
          await writeFile(file, text)
          return ['-f', `${file}@${share}`]
        }),
      )
      const threads = Math.min(availableParallelism(), clients)
      const time = `-T${warmUpSeconds + seconds + 1}`
      const size = ['-M', 'prepared', '-n', `-c${clients}`, `-j${threads}`, time, '-P1']
      const command = ['pgbench', ...size, ...files.flat(), databaseUrl]
      return readReport(await runTool(command, { PGOPTIONS: settings }))
    },
  }
}

function readReport({ output, errors: progress }: { output: string; errors: string }): LimitRun {
  const number = (pattern: RegExp) => Number(pattern.exec(output)?.[1] ?? 0)
  const seconds = [...progress.matchAll(/^progress: ([\d.]+) s, ([\d.]+) tps/gm)]
    .filter(([, at]) => Math.round(Number(at)) > warmUpSeconds)
    .map(([, , tps]) => Number(tps))
  const perSecond = seconds.reduce((sum, tps) => sum + tps, 0) / (seconds.length || 1)
  const failed = number(/number of failed transactions: (\d+)/)
  const errors = failed ? [`${failed} transactions failed`] : []
  if (!perSecond) errors.push('no transactions')
  return { requests: number(/transactions actually processed: (\d+)/), perSecond, errors }
}
