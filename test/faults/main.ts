import { run, type Result } from './campaign.ts'
import { proofOf } from './history.ts'
import { type Options, readOptions, usage } from './campaign.ts'
import { report } from './campaign.ts'

const closers: (() => Promise<unknown>)[] = []
let closing: Promise<void> | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => void close().then(() => process.exit(130)))
}
process.exit(await main(process.argv.slice(2)))

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args)
  if (!options) return 2
  try {
    const result = await run({ ...options, log: console.log }, closers)
    console.log(`\n${report(result)}`)
    return exitCode(options, result)
  } finally {
    await close()
  }
}

function exitCode({ withComparison }: Options, { violations, history }: Result): number {
  if (withComparison) return violations.length > 0 ? 1 : proofOf(history.operations).isEnough ? 0 : 3
  const isFound = violations.length > 0
  console.log(isFound ? 'violations found, as expected' : 'NO violations found, so the checks do not work')
  return isFound ? 0 : 1
}

function optionsOf(args: string[]): Options | undefined {
  try {
    return readOptions(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    return undefined
  }
}

function close(): Promise<void> {
  closing ??= (async () => {
    for (let closer = closers.shift(); closer; closer = closers.shift()) await closer().catch(console.error)
  })()
  return closing
}
