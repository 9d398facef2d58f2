import { parseArgs } from 'node:util'
import type { Campaign } from './campaign.ts'
import { type FaultName, faultNames } from './faults.ts'
import { endlessFaults } from './nemesis.ts'
import type { Random } from './random.ts'

export const usage =
  'test:faults [--minutes N | --seconds N] [--webs N] [--seed S] [--short] [--only FAULT] [--without-comparison]'

/** The main ones, once each, in an order in which what takes long to settle comes first. */
const shortFaults: FaultName[][] = [
  ['worker killed'],
  ['leases expired'],
  ['web frozen'],
  ['postgres connections terminated'],
  ['redis frozen'],
  ['postgres backend crashed', 'receivers away'],
  ['redis killed, back empty'],
  ['web killed'],
  ['postgres torn down'],
]
/** What leaves two processes writing the same project, each believing that it does so alone. */
const leaseFaults: FaultName[][] = [
  ...[['leases stolen'], ['leases expired'], ['web frozen']],
  ...[['leases stolen'], ['leases expired'], ['leases stolen']],
] as FaultName[][]

const mostOperations = 400_000
const mostOfOne = 1_000
const again = (faults: FaultName[][]) => Array.from({ length: mostOfOne }, () => faults).flat()

export interface Options extends Omit<Campaign, 'say'> {}

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      webs: { type: 'string', default: '2' },
      only: { type: 'string' },
      short: { type: 'boolean', default: false },
      'without-comparison': { type: 'boolean', default: false },
    },
  })
  const only = faultNames.find((name) => name === values.only)
  if (values.only && !only) throw new TypeError(`--only wants one of: ${faultNames.join(', ')}`)
  const webs = Number(values.webs)
  if (!(webs >= 2 && webs <= 8)) throw new TypeError('--webs wants a number from 2 to 8')
  const withComparison = !values['without-comparison']
  const fallback = withComparison && !values.short ? 120 : 30
  const seconds = Number(values.seconds ?? Number(values.minutes) * 60) || fallback
  const perSecond = Math.min(values.short ? 300 : 600, mostOperations / seconds)
  const faults = (random: Random) => {
    if (only) return again([[only]])
    if (!withComparison) return again(leaseFaults)
    return values.short ? shortFaults : endlessFaults(random)
  }
  return {
    seed: Number(values.seed ?? Math.floor(Math.random() * 1_000_000)),
    seconds,
    webs,
    withComparison,
    faults,
    pauseMs: values.short || !withComparison ? [100, 300] : [300, 2_000],
    users: values.short ? 16 : 32,
    projects: 6,
    load: { clients: 40, perSecond, mostOperations },
  }
}
