import { parseArgs } from 'node:util'
import type { Campaign } from './campaign.ts'
import { type FaultName, faultNames } from './faults.ts'
import { endlessFaults } from './fault-injector.ts'
import type { Random } from './random.ts'

export const usage =
  'test:faults [--minutes N | --seconds N] [--webs N] [--per-second N] [--seed S] [--short] [--only FAULT] [--without-comparison]'

/** One fault of each kind. Faults with a long recovery come first. */
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
/** Faults after which two processes write one project at the same time. */
const leaseFaults: FaultName[][] = [
  ...[['leases stolen'], ['leases expired'], ['web frozen']],
  ...[['leases stolen'], ['leases expired'], ['leases stolen']],
] as FaultName[][]

const maxOperations = 400_000
const repeat = (faults: FaultName[][]) => Array.from({ length: 1_000 }, () => faults).flat()

export interface Options extends Omit<Campaign, 'log'> {}

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      webs: { type: 'string', default: '2' },
      'per-second': { type: 'string' },
      only: { type: 'string' },
      short: { type: 'boolean', default: false },
      'without-comparison': { type: 'boolean', default: false },
    },
  })
  const only = faultNames.find((name) => name === values.only)
  if (values.only && !only) throw new TypeError(`--only must be one of: ${faultNames.join(', ')}`)
  const webs = Number(values.webs)
  if (!(webs >= 2 && webs <= 8)) throw new TypeError('--webs must be a number from 2 to 8')
  const withComparison = !values['without-comparison']
  const fallback = withComparison && !values.short ? 120 : 30
  const seconds = Number(values.seconds ?? Number(values.minutes) * 60) || fallback
  const most = Number(values['per-second']) || (values.short ? 300 : 600)
  const perSecond = Math.min(most, maxOperations / seconds)
  const faults = (random: Random) => {
    if (only) return repeat([[only]])
    if (!withComparison) return repeat(leaseFaults)
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
    load: { clients: 40, perSecond, maxOperations },
  }
}
