import { Redis } from 'ioredis'
import { eventually, forFile, freshEnv, freshRedis, spawnService, words } from '../kit.ts'

const server = await forFile(freshRedis())
const admin = new Redis(server.url)
await forFile({ close: () => admin.disconnect() })
const { env } = await forFile(freshEnv({ REDIS_PREFIX: 'docket', REDIS_TIMEOUT_MS: '30000' }))

type Entry = { msg: string; reason: string; advice: string }

/** Starts a web process, and returns what its log says about Redis. */
async function warningOf(REDIS_URL: string): Promise<Entry> {
  const web = await spawnService('web', { ...env, REDIS_URL })
  const warnings = () => web.output.map((line) => JSON.parse(line) as Entry).filter(({ advice }) => advice)
  await eventually('a warning', () => warnings().length > 0)
  await web.stop()
  return warnings()[0]!
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
    const { msg, reason, advice } = await warningOf(url)
    expect([msg, reason]).toEqual(['Redis is not set up for Docket', expect.stringContaining(lacking)])
    const [, user = '', right = ''] = /^Run: ACL SETUSER (\S+) (.*?)\. Also/.exec(advice)!
    await admin.acl('SETUSER', user, ...words(right))
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    // Without another warning, the first one is that of the policy.
    expect((await warningOf(url)).reason).toContain('maxmemory-policy is allkeys-lru')
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
  },
)

test('a web process says how to change REDIS_URL for a server that rejects it', async () => {
  await admin.acl('SETUSER', 'limited', 'reset', 'on', '>s3cret', '~*', '&*', '+@all')
  const wrong = server.url.replace('//', '//limited:wrong@')
  expect((await warningOf(wrong)).advice).toBe('Correct the user or the password in REDIS_URL')
  await admin.config('SET', 'requirepass', 's3cret')
  expect((await warningOf(server.url)).advice).toStartWith('Add the password to REDIS_URL')
  await admin.config('SET', 'requirepass', '')
})

test.each([
  ['redis+sentinel://HOST/main', 'Set the ports of the sentinels in REDIS_URL'],
  ['redis+cluster://HOST', 'If this Redis is not a cluster, set redis://'],
  ['redis://HOST/99', 'Set a smaller number of a database in REDIS_URL'],
])('a web process says how to change %s for a plain server', async (url, advice) => {
  expect((await warningOf(url.replace('HOST', new URL(server.url).host))).advice).toStartWith(advice)
})
