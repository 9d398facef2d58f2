import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import type { Log } from '../logger.ts'

const rows: [pattern: RegExp, advice: string][] = [
  [/^NOAUTH/, 'Add the password to REDIS_URL: redis://:password@host'],
  [/^WRONGPASS|invalid password/, 'Correct the user or the password in REDIS_URL'],
  [/^DENIED/, 'Set a password in Redis and in REDIS_URL, or bind Redis to the address of this machine'],
  [/altnames/, 'Set the host name of the certificate in REDIS_URL, or add sslmode=verify-ca'],
  [/ALERT/, 'Set sslcert and sslkey in REDIS_URL to files that the server accepts'],
  [/self.signed|certificate/, 'Set sslrootcert in REDIS_URL to a file with the authority of the certificate'],
  [/unknown command 'sentinel'/, 'Set the ports of the sentinels in REDIS_URL, or redis:// for one server'],
  [/No such master|ERR_MASTER/i, 'Correct the name of the master at the end of REDIS_URL'],
  [/slots cache|cluster support disabled/, 'If this Redis is not a cluster, set redis:// in REDIS_URL'],
  [
    /DB index is out of range/,
    'Set a smaller number of a database in REDIS_URL, or more databases in redis.conf',
  ],
  [/ECONNRESET|EPIPE|SSL routines/, 'If Redis demands TLS, set rediss:// in REDIS_URL; otherwise redis://'],
]

/** Returns how an operator can change the setting, or undefined if waiting may help. */
export const adviceFor = (reason: string) => rows.find(([pattern]) => pattern.test(reason))?.[1]

const [attempts, retryMs] = [10, 1_000]

/** At each new connection, logs what the server must allow or change, because commands fail or data is lost without it. */
export function warnOfServerSettings(
  redis: Redis | Cluster,
  redisUrl: string,
  prefixes: string[],
  log: Log,
): void {
  const logged = new Set<string>()
  const warn = (reason: string, advice: string) => {
    if (!logged.has(reason)) log.warn({ reason, advice }, 'Redis is not set up for Docket')
    logged.add(reason)
  }
  const user = decodeURIComponent(/:\/\/([^:@/]+)[^/]*@/.exec(redisUrl)?.[1] ?? 'default')
  const probes: [right: string, command: () => Promise<unknown>][] = [
    [`&${prefixes[0]}*`, () => redis.publish(`${prefixes[0]}:probe`, '')],
    ...prefixes.map((prefix): [string, () => Promise<unknown>] => [
      `~${prefix}*`,
      () => redis.set(`${prefix}:probe`, '', 'PX', 1),
    ]),
    ['+@all', () => redis.eval('return 1', 0)],
  ]
  const check = async (): Promise<boolean> => {
    const [policy, ...problems] = await Promise.all([
      redis.info('memory').then(
        (info) => /maxmemory_policy:(\S+)/.exec(info)?.[1],
        () => undefined,
      ),
      ...probes.map(([, probe]) => probe().then(() => '', String)),
    ])
    if (policy && policy !== 'noeviction')
      warn(
        `Redis may evict jobs and leases, because its maxmemory-policy is ${policy}`,
        'Run: CONFIG SET maxmemory-policy noeviction. Also change redis.conf',
      )
    const isDenied = (problem = '') => problem.includes('NOPERM')
    const rights = probes.flatMap(([right], n) => (isDenied(problems[n]) ? right : []))
    if (rights.length > 0)
      warn(problems.find(isDenied)!, `Run: ACL SETUSER ${user} ${rights.join(' ')}. Also change the ACL file`)
    return problems.every((problem) => !problem || isDenied(problem))
  }
  redis.on('ready', async () => {
    // Replies may be late while the process starts, so the check is repeated.
    for (let attempt = 1; attempt <= attempts && redis.status === 'ready'; attempt++) {
      if (await check()) return
      await sleep(retryMs, undefined, { ref: false })
    }
  })
}
