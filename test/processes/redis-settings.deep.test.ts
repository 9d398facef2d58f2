import { Redis } from 'ioredis'
import { eventually, forFile, freshEnv, freshRedis, spawnService, words } from '../kit.ts'

const server = await forFile(freshRedis())
const admin = new Redis(server.url)
await forFile({ close: () => admin.disconnect() })
const { env } = await forFile(freshEnv({ REDIS_PREFIX: 'docket', REDIS_TIMEOUT_MS: '30000' }))

type Entry = { msg: string; reason: string; advice: string }

/** Starts a web process, and returns what its log says about Redis, with a reason that contains `part`. */
async function warningOf(REDIS_URL: string, part: string): Promise<Entry & { output: string }> {
  const web = await spawnService('web', { ...env, REDIS_URL })
  const warnings = () =>
    web.output.map((line) => JSON.parse(line) as Entry).filter(({ reason }) => reason?.includes(part))
  await eventually('a warning', () => warnings().length > 0)
  await web.stop()
  return { ...warnings()[0]!, output: web.output.join() }
}

const rights: [lacking: string, rules: string][] = [
  ['channels', '~* resetchannels +@all'],
  ['keys', '~docket:* &* +@all'],
  ['eval', '~* &* +@all -eval'],
]
test.each(rights)(
  'a web process warns of a user without %s: %s, and the advice helps',
  async (lacking, rules) => {
    await admin.acl('SETUSER', 'limited', 'reset', 'on', '>s3cret', ...words(rules))
    const url = server.url.replace('//', '//limited:s3cret@')
    const { msg, advice } = await warningOf(url, lacking)
    expect(msg).toBe('Redis is not set up for Docket')
    const [, user = '', right = ''] = /^Run: ACL SETUSER (\S+) (.*?)\. Also/.exec(advice)!
    await admin.acl('SETUSER', user, ...words(right))
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    expect((await warningOf(url, 'maxmemory-policy is allkeys-lru')).output).not.toContain('NOPERM')
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
  },
)

test.each([
  ['redis://limited:wrong@HOST', 'WRONGPASS'],
  ['redis+sentinel://HOST/main', 'sentinel'],
  ['redis+cluster://HOST', 'slots cache'],
  ['redis://HOST/99', 'DB index is out of range'],
])('a web process that a plain server rejects names the reason and REDIS_URL: %s', async (url, part) => {
  await admin.acl('SETUSER', 'limited', 'reset', 'on', '>s3cret', '~*', '&*', '+@all')
  const { advice } = await warningOf(url.replace('HOST', new URL(server.url).host), part)
  expect(advice).toContain('in REDIS_URL')
})
