import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder, readConfig, rowsOf, upTo, words } from '../kit.ts'
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
const standbys = (count: number) => upTo(count).map((n) => `postgres://u:p,q@h${n}:5433/docket`)

/** The variable, a part of the error, and values that are rejected. */
const rejected = `
  BODY_BYTES | BODY_BYTES must be a whole number from 1024 to 16777216, not "1023" | 1023
  JWT_SECRET | must be at least 32 bytes long | ${'x'.repeat(31)}
  DATABASE_URL | DATABASE_URL must be a URL starting with postgres:// or postgresql:// | mysql://u:p@db db:5432 //db redis://db
  DATABASE_URL | must be a URL with a host, and with a port from 0 to 65535 or without one | postgres://one,/docket
  DATABASE_URL | must be a URL with a host, and with a port | postgres://u:p@db:99999/docket postgres://u:p@[::1/docket
  DATABASE_URL | server that accepts writes: set target_session_attrs=read-write | postgres://a,b/d?target_session_attrs=any
  DATABASE_URL | server that accepts writes | postgres://a/d?target_session_attrs=standby postgres://a/d?target_session_attrs=read-only
  DATABASE_URL | sockets of Unix are not supported | postgres:///docket?host=/run/postgresql postgres://u@%2Frun%2Fpostgresql/d
  DATABASE_URL | must have an sslmode with sslrootcert | ${tls}sslrootcert=/ca.pem
  DATABASE_URL | percent-encode @ as %40 and / as %2F and # as %23 | postgres://ada@corp:a/b#c@db/docket
  DATABASE_URL | percent-encode % as %25 | postgres://u:%E9@db/docket
  DATABASE_URL | percent-encode ? as %3F | postgres://u:a?b=c@db/docket
  DATABASE_URL | must be a URL with brackets around an IPv6 address, for example [::1] | postgres://u@::1/db
  DATABASE_STANDBY_URLS | must be at most 8 URLs with commas between | ${standbys(9).join()}
  DATABASE_STANDBY_URLS | must be URLs with one host each: postgres://…,postgres://… | postgres://one,two/docket
  DATABASE_STANDBY_URLS | must be a URL starting with postgres:// or postgresql:// | postgres://one/docket,mysql://two
  DATABASE_STANDBY_URLS | must be a URL with a host, and with a port from 0 to 65535 | postgres://one:99999
  REDIS_URL | redis:// or rediss:// or unix:// or redis+sentinel:// or redis+cluster:// or rediss+sentinel:// | http://cache
  REDIS_URL | redis+cluster:// | redis://one,two
  REDIS_URL | REDIS_URL must end with the number of a database | redis://cache/jobs rediss://cache:6379/-1
  REDIS_URL | unix:///run/redis.sock | unix://run/redis.sock
  REDIS_URL | redis+sentinel://host:26379/NAME | redis+sentinel://one,two/ rediss+sentinel://one,two/
  REDIS_URL | must start with rediss:// instead of redis:// to use sslmode | redis://cache?sslmode=require
  REDIS_URL | not "disable" | rediss://cache?sslmode=disable
  REDIS_URL | not "allow" | rediss://cache?sslmode=allow
  REDIS_URL | not "prefer" | rediss://cache?sslmode=prefer
  REDIS_URL | must be a URL with brackets around an IPv6 address | redis://:p@fe80::1:6379
  SMTP_URL | must be a URL with brackets around an IPv6 address | smtp://::1
  PORT | PORT must be a whole number from 0 to 65535, not " | -1 65536 80.5 8e3 0x50 1_000 ٣
  JWT_EXPIRATION | a duration with a unit, such as 15m, 12h or 7d (at most 3650d), not " | 7 3600 0 0d -1d 1y 1.5h d 3651d`

test.each(rowsOf(rejected))('the error of %s says: %s', (name, message, values) => {
  for (const value of words(values)) {
    const error = complaint({ [name]: value })
    expect([value, error]).toEqual([value, expect.stringContaining(message)])
    expect(error).toStartWith(name)
    if (message.endsWith('not "')) expect(error).toEndWith(`not "${value}"`)
  }
})

const accepted = `
  PORT | port | 0 65535
  JWT_SECRET | jwtSecret | ${'x'.repeat(32)} ${'é'.repeat(16)}
  DATABASE_URL | databaseUrl | postgres://u:p@db/docket postgresql://db postgres://u:p@one:5433,two/docket
  DATABASE_URL | databaseUrl | postgres://one,two/d?target_session_attrs=read-write postgres://[::1]:5433,[::2]/docket
  DATABASE_URL | databaseUrl | postgres://db/docket?application_name=a@b/c
  REDIS_URL | redisUrl | redis://cache:6379/1 rediss://cache unix:///run/redis.sock?db=1 unix:///run/redis@1.sock?db=1
  REDIS_URL | redisUrl | redis+sentinel://u:p@one:26379,two/main rediss+sentinel://u:p@one:26379,two/main
  REDIS_URL | redisUrl | redis+cluster://one:6379,two,[::1]:7000 rediss+cluster://one:6379,two,[::1]:7000`

test.each(rowsOf(accepted))('accepts valid values of %s', (name, field, values) => {
  for (const value of words(values))
    expect(String((readConfig({ [name]: value }) as unknown as Record<string, unknown>)[field])).toBe(value)
})

test('reads durations, lists of standbys, and addresses to listen on with or without brackets', () => {
  const durations = { '90s': 90, '15m': 900, '12h': 43_200, '2w': 1_209_600, '3650d': 315_360_000 }
  for (const [value, seconds] of Object.entries(durations))
    expect(readConfig({ JWT_EXPIRATION: value }).jwtExpirationSeconds).toBe(seconds)
  expect(complaint({ JWT_EXPIRATION: '7 days' })).toEndWith('not "7 days"')
  for (const urls of [
    [],
    standbys(1),
    standbys(8),
    ['postgres://one/d?sslmode=require', 'postgresql://[::1]/d'],
  ])
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
    for (const [character, encoded] of Object.entries({
      '#': '%23',
      '%': '%25',
      '/': '%2F',
      '?': '%3F',
      '@': '%40',
    }))
      for (const password of [`s${character}cret`, `12${character}xy`, `${character}x`, `x${character}`]) {
        const isRead = name === 'SMTP_URL' && '@%'.includes(character)
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

test.each([
  ['sslmode=no-verify', 'verify-full, not "no-verify"'],
  ['sslmode=REQUIRE', 'not "REQUIRE"'],
  ['sslmode=', 'not ""'],
  ['sslmode=require&sslmode=disable', 'sslmode only once'],
  ['ssl=true', 'must not have the parameter ssl:'],
  ['SSLMODE=require', 'must not have the parameter SSLMODE:'],
  ['sslmode=require&channel_binding=require', 'must not have the parameter channel_binding:'],
  ['sslmode=require&sslnegotiation=direct', 'must not have the parameter sslnegotiation:'],
  [
    'sslmode=verify-ca&sslrootcert=/missing.pem',
    'sslrootcert that can be read: "/missing.pem" fails with ENOENT',
  ],
  [`sslmode=verify-ca&sslrootcert=${import.meta.path}`, 'sslrootcert that contains a certificate'],
  ['sslmode=require&sslcert=/missing.pem&sslkey=/missing.pem', 'sslcert that can be read'],
  ['sslmode=require&sslrootcert=system', 'sslmode=verify-full with sslrootcert=system, not "require"'],
])('the error for %s names the parameter', (parameters, message) => {
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
  for (const [name, message] of [
    ['other', 'belongs to the certificate'],
    ['cert', 'unencrypted private key'],
  ])
    expect(complaint({ DATABASE_URL: `${given}&sslkey=${path(name!)}` })).toContain(message!)
  expect(complaint({ DATABASE_URL: `${given}&sslkey=${path('key')}` })).toBeUndefined()
})

test('the error for a variable that Kubernetes sets for a Service names enableServiceLinks', () => {
  for (const name of ['METRICS_PORT', 'HOME_PORT', 'PORT'])
    expect(complaint({ [name]: 'tcp://10.0.0.1:9090' })).toMatch(
      new RegExp(`^${name} must be a whole number .* enableServiceLinks: false .* set ${name} there$`),
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
