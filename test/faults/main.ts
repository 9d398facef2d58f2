import { parseArgs } from 'node:util'
import { type Campaign, report, run } from './campaign.ts'
import { endlessFaults, faultNames } from './faults.ts'
import { proofOf } from './history.ts'

const usage =
  'test:faults [--minutes N | --seconds N] [--webs N] [--per-second N] [--seed S] [--short] [--only FAULT]'
const maxOperations = 400_000

const closers: (() => Promise<unknown>)[] = []
let closing: Promise<void> | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => void close().then(() => process.exit(130)))
process.exit(await main(process.argv.slice(2)))

async function main(args: string[]): Promise<number> {
  let options: ReturnType<typeof readOptions>
  try {
    options = readOptions(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    return 2
  }
  try {
    const result = await run({ ...options, log: console.log }, closers)
    console.log(`\n${report(result)}`)
    if (result.violations.length > 0) return 1
    return proofOf(result.operations).isEnough ? 0 : 3
  } finally {
    await close()
  }
}

function readOptions(args: string[]): Omit<Campaign, 'log'> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      ...{ minutes: text, seconds: text, seed: text, only: text, 'per-second': text },
      ...{ webs: { ...text, default: '2' }, short: { type: 'boolean', default: false } as const },
    },
  })
  const { short, seed = Math.floor(Math.random() * 1_000_000) } = values
  const only = faultNames.find((name) => name === values.only)
  if (values.only && !only) throw new TypeError(`--only must be one of: ${faultNames.join(', ')}`)
  const webs = Number(values.webs)
  if (!(webs >= 2 && webs <= 8)) throw new TypeError('--webs must be a number from 2 to 8')
  const seconds = Number(values.seconds ?? Number(values.minutes) * 60) || (short ? 240 : 120)
  const most = Number(values['per-second']) || (short ? 300 : 600)
  return {
    ...{ seed: Number(seed), seconds, webs, users: 12, projects: 6 },
    faults: (random) => {
      if (only) return Array.from({ length: 1_000 }, () => [only])
      return short ? random.shuffled(faultNames).map((name) => [name]) : endlessFaults(random)
    },
    pauseMs: short ? [100, 300] : [300, 2_000],
    load: { clients: 40, perSecond: Math.min(most, maxOperations / seconds), maxOperations },
  }
}

function close(): Promise<void> {
  closing ??= (async () => {
    for (let closer = closers.shift(); closer; closer = closers.shift()) await closer().catch(console.error)
  })()
  return closing
}
