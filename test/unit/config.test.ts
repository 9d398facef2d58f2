import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder, readYaml, readConfig, upTo, words } from '../kit.ts'
import { requireProductionSettings, settingNames } from '../../src/config.ts'
import { ConfigError } from '../../src/setting-values.ts'
import { childEnvs, sharedPools } from '../../src/process/supervisor.ts'
import { serversOf } from '../../src/postgres/connect.ts'
import { urlsOf } from '../../src/process/port.ts'
import { cert, key } from '../support/tls-proxy.ts'

/** Variables that accept any text. */
const free = ['HOST', 'REDIS_PREFIX', 'DATA_DIR', 'HOME_HOST', 'METRICS_HOST', 'NODE_ENV']

function complaint(env: Record<string, string>): string | undefined {
  try {
    readConfig(env)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

test('has a default for every setting, treats a blank variable as missing, and trims values', () => {
  expect(readConfig({})).toMatchObject({
    ...{ port: 3000, host: '0.0.0.0', dataDir: '.data', jwtExpirationSeconds: 604_800 },
    ...{ databaseUrl: '', redisUrl: '', jwtSecret: '', production: false },
  })
  expect(readConfig({ PORT: ' ', HOST: '', JWT_EXPIRATION: ' ' })).toEqual(readConfig({}))
  expect(readConfig({ PORT: ' 8080 ' }).port).toBe(8080)
  const isProduction = words('production test').map((NODE_ENV) => readConfig({ NODE_ENV }).production)
  expect(isProduction).toEqual([true, false])
})

test('the error for an invalid value names the variable', () => {
  for (const name of settingNames().filter((name) => !free.includes(name)))
    expect(complaint({ [name]: 'nonsense' })).toStartWith(`${name} must be `)
})

test('lists all invalid variables in one line, and all settings that production requires', () => {
  const invalid = ['PORT must be a whole number from 0 to 65535, not "http"']
  invalid.push('JWT_SECRET must be at least 32 bytes long: one secret, or two with a comma between')
  invalid.push('REUSE_PORT must be one of on, off, not "yes"')
  expect(complaint({ REUSE_PORT: 'yes', PORT: 'http', JWT_SECRET: 'short' })).toBe(invalid.join('; '))
  const config = readConfig({ NODE_ENV: 'production', DATABASE_URL: 'postgres://db' })
  const missing = /^JWT_SECRET must be set .*; REDIS_URL must be set .*$/
  expect(() => requireProductionSettings(config)).toThrow(missing)
})

const tls = 'postgres://db/docket?'

interface Cases {
  rejected: [name: string, message: string, values: string[]][]
  parameters: [parameters: string, message: string][]
  accepted: Record<string, string[]>
}
const { rejected, parameters, accepted } = readYaml<Cases>('test/unit/settings.yaml')

test.each(rejected)('the error of %s says: %s', (name, message, values) => {
  for (const value of values) {
    const error = complaint({ [name]: value })
    expect([value, error]).toEqual([value, expect.stringContaining(message)])
    expect(error).toStartWith(name)
    if (message.endsWith('not "')) expect(error).toEndWith(`not "${value}"`)
  }
})

test('accepts valid values unchanged', () => {
  for (const [name, values] of Object.entries(accepted)) {
    const field = name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    for (const value of values)
      expect(String((readConfig({ [name]: value }) as unknown as Record<string, unknown>)[field])).toBe(value)
  }
})

test('reads durations, lists of standbys, and addresses to listen on with or without brackets', () => {
  const durations = { '90s': 90, '15m': 900, '12h': 43_200, '2w': 1_209_600, '3650d': 315_360_000 }
  for (const [value, seconds] of Object.entries(durations))
    expect(readConfig({ JWT_EXPIRATION: value }).jwtExpirationSeconds).toBe(seconds)
  const standbys = upTo(8).map((n) => `postgres://u:p,q@h${n}:5433/docket`)
  for (const urls of [[], standbys, ['postgres://one/d?sslmode=require', 'postgresql://[::1]/d']])
    for (const separator of [',', ', '])
      expect(readConfig({ DATABASE_STANDBY_URLS: urls.join(separator) }).databaseStandbyUrls).toEqual(urls)
  for (const name of ['HOST', 'HOME_HOST', 'METRICS_HOST'])
    for (const value of ['::1', '[::1]'])
      expect(Object.values(readConfig({ [name]: value }))).toContain('::1')
})

const urls = {
  DATABASE_URL: 'postgres://docket:PASSWORD@db:5432/docket?sslmode=require',
  REDIS_URL: 'redis://:PASSWORD@cache:6379/1',
  SMTP_URL: 'smtps://ada:PASSWORD@mail',
}

test.each(Object.entries(urls))(
  'the error of %s names characters to encode, but hides the password',
  (name, url) => {
    for (const character of '#%/?@')
      for (const password of [`s${character}cret`, `12${character}xy`, `${character}x`, `x${character}`]) {
        const isRead = name === 'SMTP_URL' && '@%'.includes(character)
        const encoded = encodeURIComponent(character)
        const advice = `in the user and the password, percent-encode ${character} as ${encoded}`
        expect(complaint({ [name]: url.replace('PASSWORD', password) })).toBe(
          isRead ? undefined : `${name} must be a URL: ${advice}`,
        )
        expect(complaint({ [name]: url.replace('PASSWORD', encodeURIComponent(password)) })).toBeUndefined()
      }
  },
)

test('an IPv6 address reaches the socket without brackets, and the URLs of the service have brackets', () => {
  const ofServer = (host: string, port: number) => ({
    host: [host],
    port: [port],
    options: { host: [host], port: [port] },
  })
  expect(serversOf('postgres://u@[::1]:5433,[::2]/docket?target_session_attrs=primary')).toMatchObject([
    { ...ofServer('::1', 5433), url: 'postgres://u@[::1]:5433/docket' },
    ofServer('::2', 5432),
  ])
  expect(urlsOf({ host: '::1', port: 80 }).api).toBe('http://[::1]:80/api/v1')
  expect(urlsOf({ host: '::', port: 80 }).api).toBe('http://localhost:80/api/v1')
})

test.each(parameters)('the error for %s names the parameter', (parameters, message) => {
  expect(complaint({ DATABASE_URL: tls + parameters })).toContain(message)
  expect(complaint({ REDIS_URL: `rediss://cache?${parameters}` })).toContain(message)
})

test('sslcert needs its sslkey', async () => {
  const folder = await newFolder()
  const path = (name: string) => join(folder, name)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const other = privateKey.export({ type: 'pkcs8', format: 'pem' })
  for (const [name, text] of Object.entries({ cert, key, other })) await writeFile(path(name), text)
  const given = `${tls}sslmode=require&sslcert=${path('cert')}`
  expect(complaint({ DATABASE_URL: given })).toBe(
    'DATABASE_URL must have both sslcert and sslkey, or neither',
  )
  for (const name of ['other', 'cert'])
    expect(complaint({ DATABASE_URL: `${given}&sslkey=${path(name)}` })).toContain(
      'unencrypted key of sslcert',
    )
  expect(complaint({ DATABASE_URL: `${given}&sslkey=${path('key')}` })).toBeUndefined()
})

test('the error for a variable that Kubernetes sets for a Service names enableServiceLinks', () => {
  for (const name of ['METRICS_PORT', 'HOME_PORT', 'PORT'])
    expect(complaint({ [name]: 'tcp://10.0.0.1:9090' })).toMatch(
      new RegExp(`^${name} must be a whole number .* enableServiceLinks: false`),
    )
})

test('up to 24 web processes, a worker and a replacement process fit into 100 Postgres connections', () => {
  const poolsOf = (webConcurrency: number) =>
    Object.values(sharedPools({ ...readConfig({}), webConcurrency })).map(Number)
  const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0)
  for (const processes of upTo(6)) expect(poolsOf(processes)).toEqual([4, 4, 3])
  for (const processes of upTo(24)) expect(processes * sum(poolsOf(processes)) + 2 * 11).toBeLessThan(97)
  for (const processes of upTo(64)) expect(Math.min(...poolsOf(processes))).toBeGreaterThan(0)
  const env = { BACKGROUND_CONNECTIONS: '8', WEB_CONCURRENCY: '12' }
  const { web, worker } = childEnvs(readConfig(env), env)
  expect([readConfig(web), readConfig(worker)]).toMatchObject([
    { backgroundConnections: 8, readConnections: 2, webConcurrency: 1 },
    { backgroundConnections: 8, readConnections: 4, webConcurrency: 1 },
  ])
})
