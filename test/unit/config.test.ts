import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder, readConfig, upTo } from '../kit.ts'
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

describe('configuration', () => {
  test('has a default for every setting', () => {
    expect(readConfig({})).toMatchObject({
      ...{ port: 3000, host: '0.0.0.0', dataDir: '.data', jwtExpirationSeconds: 604_800 },
      ...{ databaseUrl: '', redisUrl: '', jwtSecret: '', production: false },
    })
  })

  test('treats a blank variable as missing, and trims values', () => {
    expect(readConfig({ PORT: ' ', HOST: '', JWT_EXPIRATION: ' ' })).toEqual(readConfig({}))
    expect(readConfig({ PORT: ' 8080 ' }).port).toBe(8080)
  })

  test('recognizes production by NODE_ENV=production', () => {
    expect(readConfig({ NODE_ENV: 'production' }).production).toBe(true)
    expect(readConfig({ NODE_ENV: 'test' }).production).toBe(false)
  })

  for (const name of settingNames().filter((name) => !free.includes(name))) {
    test(`the error for an invalid ${name} names the variable`, () => {
      expect(complaint({ [name]: 'nonsense' })).toStartWith(`${name} must be `)
    })
  }

  test('lists all invalid variables in one line', () => {
    expect(complaint({ REUSE_PORT: 'yes', PORT: 'http', JWT_SECRET: 'short' })).toBe(
      [
        'PORT must be a whole number from 0 to 65535, not "http"',
        'JWT_SECRET must be at least 32 bytes long: one secret, or two with a comma between',
        'REUSE_PORT must be one of on, off, not "yes"',
      ].join('; '),
    )
  })

  test('lists all settings that production requires', () => {
    const config = readConfig({ NODE_ENV: 'production', DATABASE_URL: 'postgres://db' })
    expect(() => requireProductionSettings(config)).toThrow(
      /^JWT_SECRET must be set .*; REDIS_URL must be set .*$/,
    )
  })
})

describe('whole number', () => {
  for (const value of ['-1', '65536', '80.5', '8e3', '0x50', '1_000', '80 80', '٣', '9'.repeat(30)]) {
    test(`rejects ${value}`, () => {
      expect(complaint({ PORT: value })).toBe(`PORT must be a whole number from 0 to 65535, not "${value}"`)
    })
  }

  test('accepts the minimum and the maximum of a number', () => {
    expect([readConfig({ PORT: '0' }).port, readConfig({ PORT: '65535' }).port]).toEqual([0, 65535])
    expect(complaint({ BODY_BYTES: '1023' })).toBe(
      'BODY_BYTES must be a whole number from 1024 to 16777216, not "1023"',
    )
  })
})

describe('database and Redis URL', () => {
  test('accepts the supported URL schemes', () => {
    for (const url of ['postgres://u:p@db/docket', 'postgresql://db'])
      expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url)
    const pair = 'postgres://u:p@one:5433,two/docket'
    for (const url of [pair, `${pair}?target_session_attrs=read-write`, 'postgres://[::1]:5433,[::2]/docket'])
      expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url)
    const many = ['redis+sentinel://u:p@one:26379,two/main', 'redis+cluster://one:6379,two,[::1]:7000']
    const secure = many.map((url) => url.replace('redis', 'rediss'))
    const single = ['redis://cache:6379/1', 'rediss://cache', 'unix:///run/redis.sock?db=1']
    for (const url of [...single, ...many, ...secure])
      expect(readConfig({ REDIS_URL: url }).redisUrl).toBe(url)
  })

  test('DATABASE_STANDBY_URLS is a list of up to 8 servers, each with one host', () => {
    const standbys = (value: string) => ({ DATABASE_STANDBY_URLS: value })
    const upTo = (count: number) =>
      Array.from({ length: count }, (_, n) => `postgres://u:p,q@h${n}:5433/docket`)
    for (const urls of [[], upTo(1), upTo(8), ['postgres://one/d?sslmode=require', 'postgresql://[::1]/d']])
      for (const separator of [',', ', '])
        expect(readConfig(standbys(urls.join(separator))).databaseStandbyUrls).toEqual(urls)
    const invalid = {
      'must be at most 8 URLs with commas between': upTo(9).join(),
      'must be URLs with one host each: postgres://…,postgres://…': 'postgres://one,two/docket',
      'must be a URL starting with postgres:// or postgresql://': 'postgres://one/docket,mysql://two',
      'must be a URL with a host, and with a port from 0 to 65535 or without one': 'postgres://one:99999',
    }
    for (const [message, value] of Object.entries(invalid))
      expect(complaint(standbys(value))).toBe(`DATABASE_STANDBY_URLS ${message}`)
  })

  test('the error names the variable but hides the URL, which may contain a password', () => {
    const message = 'DATABASE_URL must be a URL starting with postgres:// or postgresql://'
    for (const url of ['mysql://u:p@db', 'db:5432', '//db', 'redis://db'])
      expect(complaint({ DATABASE_URL: url })).toBe(message)
    for (const url of [
      'postgres://one,/docket',
      'postgres://u:p@db:99999/docket',
      'postgres://u:p@[::1/docket',
    ])
      expect(complaint({ DATABASE_URL: url })).toBe(
        'DATABASE_URL must be a URL with a host, and with a port from 0 to 65535 or without one',
      )
    for (const wanted of ['standby', 'any', 'read-only'])
      expect(complaint({ DATABASE_URL: `postgres://one,two/docket?target_session_attrs=${wanted}` })).toBe(
        'DATABASE_URL must lead to a server that accepts writes: set target_session_attrs=read-write, or leave it out',
      )
    expect(complaint({ REDIS_URL: 'http://cache' })).toBe(
      `REDIS_URL must be a URL starting with ${['redis', 'rediss', 'unix', 'redis+sentinel', 'redis+cluster', 'rediss+sentinel', 'rediss+cluster'].map((one) => `${one}://`).join(' or ')}`,
    )
    expect(complaint({ REDIS_URL: 'redis://one,two' })).toContain('redis+cluster://')
    for (const url of ['redis://cache/jobs', 'rediss://cache:6379/-1'])
      expect(complaint({ REDIS_URL: url })).toContain('REDIS_URL must end with the number of a database')
    expect(complaint({ REDIS_URL: 'unix://run/redis.sock' })).toContain('unix:///run/redis.sock')
    for (const scheme of ['redis+sentinel', 'rediss+sentinel'])
      expect(complaint({ REDIS_URL: `${scheme}://one,two/` })).toContain('redis+sentinel://host:26379/NAME')
  })
})

describe('characters of a password', () => {
  const urls = {
    DATABASE_URL: 'postgres://docket:PASSWORD@db:5432/docket?sslmode=require',
    REDIS_URL: 'redis://:PASSWORD@cache:6379/1',
    SMTP_URL: 'smtps://ada:PASSWORD@mail',
  }
  const characters = { '#': '%23', '%': '%25', '/': '%2F', '?': '%3F', '@': '%40' }
  for (const [name, url] of Object.entries(urls))
    for (const [character, encoded] of Object.entries(characters)) {
      test(`the error for ${character} in the password of ${name} says how to encode it`, () => {
        for (const password of [`s${character}cret`, `12${character}xy`, `${character}x`, `x${character}`]) {
          const given = { [name]: url.replace('PASSWORD', password) }
          const isRead = name === 'SMTP_URL' && '@%'.includes(character)
          const advice = `in the user and the password, percent-encode ${character} as ${encoded}`
          expect(complaint(given)).toBe(isRead ? undefined : `${name} must be a URL: ${advice}`)
          expect(complaint({ [name]: url.replace('PASSWORD', encodeURIComponent(password)) })).toBeUndefined()
        }
      })
    }

  test('the error names all characters, also those of the user', () => {
    expect(complaint({ DATABASE_URL: 'postgres://ada@corp:a/b#c@db/docket' })).toEndWith(
      'percent-encode @ as %40 and / as %2F and # as %23',
    )
    expect(complaint({ DATABASE_URL: 'postgres://u:%E9@db/docket' })).toEndWith('percent-encode % as %25')
    expect(complaint({ DATABASE_URL: 'postgres://u:a?b=c@db/docket' })).toEndWith('percent-encode ? as %3F')
  })

  test('accepts @ in a parameter and in the path of a socket', () => {
    expect(complaint({ DATABASE_URL: 'postgres://db/docket?application_name=a@b/c' })).toBeUndefined()
    expect(complaint({ REDIS_URL: 'unix:///run/redis@1.sock?db=1' })).toBeUndefined()
  })
})

test('DATABASE_URL with the path of a socket is rejected, because a connection would use localhost instead', () => {
  for (const url of ['postgres:///docket?host=/run/postgresql', 'postgres://u@%2Frun%2Fpostgresql/docket'])
    expect(complaint({ DATABASE_URL: url })).toContain('sockets of Unix are not supported')
})

describe('IPv6', () => {
  test('addresses to listen on may have brackets', () => {
    for (const name of ['HOST', 'HOME_HOST', 'METRICS_HOST'])
      for (const value of ['::1', '[::1]'])
        expect(Object.values(readConfig({ [name]: value }))).toContain('::1')
  })

  test('the error for an address without brackets in a URL asks for brackets', () => {
    const given = {
      DATABASE_URL: 'postgres://u@::1/db',
      REDIS_URL: 'redis://:p@fe80::1:6379',
      SMTP_URL: 'smtp://::1',
    }
    for (const [name, value] of Object.entries(given))
      expect(complaint({ [name]: value })).toBe(
        `${name} must be a URL with brackets around an IPv6 address, for example [::1]`,
      )
  })

  test('an address in DATABASE_URL reaches the socket without brackets', () => {
    const all = serversOf('postgres://u@[::1]:5433,[::2]/docket?target_session_attrs=primary')
    expect(all).toMatchObject([
      {
        host: ['::1'],
        port: [5433],
        options: { host: ['::1'], port: [5433] },
        url: 'postgres://u@[::1]:5433/docket',
      },
      { host: ['::2'], port: [5432], options: { host: ['::2'], port: [5432] } },
    ])
  })

  test('the URLs of the service have brackets', () => {
    expect(urlsOf({ host: '::1', port: 80 }).api).toBe('http://[::1]:80/api/v1')
    expect(urlsOf({ host: '::', port: 80 }).api).toBe('http://localhost:80/api/v1')
  })
})

describe('parameters for TLS', () => {
  const wrong: [parameters: string, message: string][] = [
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
  ]
  test.each(wrong)('the error for %s names the parameter', (parameters, message) => {
    expect(complaint({ DATABASE_URL: `postgres://db/docket?${parameters}` })).toContain(message)
    expect(complaint({ REDIS_URL: `rediss://cache?${parameters}` })).toContain(message)
  })

  test('sslcert needs its sslkey', async () => {
    const folder = await newFolder()
    const path = (name: string) => join(folder, name)
    for (const [name, text] of Object.entries({ cert, key, other: otherKey() }))
      await writeFile(path(name), text)
    const given = `postgres://db/docket?sslmode=require&sslcert=${path('cert')}`
    expect(complaint({ DATABASE_URL: given })).toBe(
      'DATABASE_URL must have both sslcert and sslkey, or neither',
    )
    expect(complaint({ DATABASE_URL: `${given}&sslkey=${path('other')}` })).toContain(
      'belongs to the certificate',
    )
    expect(complaint({ DATABASE_URL: `${given}&sslkey=${path('cert')}` })).toContain(
      'unencrypted private key',
    )
    expect(complaint({ DATABASE_URL: `${given}&sslkey=${path('key')}` })).toBeUndefined()
  })

  test('parameters without TLS are rejected', () => {
    expect(complaint({ DATABASE_URL: `postgres://db/docket?sslrootcert=/ca.pem` })).toContain(
      'must have an sslmode with sslrootcert',
    )
    expect(complaint({ REDIS_URL: 'redis://cache?sslmode=require' })).toBe(
      'REDIS_URL must start with rediss:// instead of redis:// to use sslmode',
    )
    for (const mode of ['disable', 'allow', 'prefer'])
      expect(complaint({ REDIS_URL: `rediss://cache?sslmode=${mode}` })).toContain(`not "${mode}"`)
  })
})

const otherKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })

test('the error for a variable that Kubernetes sets for a Service names enableServiceLinks', () => {
  for (const name of ['METRICS_PORT', 'HOME_PORT', 'PORT'])
    expect(complaint({ [name]: 'tcp://10.0.0.1:9090' })).toMatch(
      new RegExp(`^${name} must be a whole number .* enableServiceLinks: false .* set ${name} there$`),
    )
})

describe('JWT_SECRET', () => {
  test('the secret has at least 32 bytes, and a multi-byte character counts as several bytes', () => {
    const message = 'JWT_SECRET must be at least 32 bytes long'
    expect(complaint({ JWT_SECRET: 'x'.repeat(31) })).toStartWith(message)
    expect(readConfig({ JWT_SECRET: 'x'.repeat(32) }).jwtSecret).toHaveLength(32)
    expect(readConfig({ JWT_SECRET: 'é'.repeat(16) }).jwtSecret).toHaveLength(16)
  })
})

describe('duration', () => {
  const [minute, hour, day] = [60, 3_600, 86_400] as const
  const seconds = { '90s': 90, '30s': 30, '15m': 15 * minute, '12h': 12 * hour, '7d': 7 * day }
  const long = { '2w': 14 * day, '3650d': 3_650 * day }
  for (const [value, expected] of Object.entries({ ...seconds, ...long })) {
    test(`accepts ${value}`, () => {
      expect(readConfig({ JWT_EXPIRATION: value }).jwtExpirationSeconds).toBe(expected)
    })
  }

  for (const value of ['7', '3600', '0', '0d', '-1d', '1y', '1.5h', 'd', '3651d', '7 days', '9999999999']) {
    test(`rejects ${value}`, () => {
      expect(complaint({ JWT_EXPIRATION: value })).toBe(
        `JWT_EXPIRATION must be a duration with a unit, such as 15m, 12h or 7d (at most 3650d), not "${value}"`,
      )
    })
  }
})

const connections = (processes: number, env: Record<string, string> = {}) => {
  const pools = sharedPools({ ...readConfig(env), webConcurrency: processes })
  return Object.values(pools).map(Number)
}
const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0)
const full = 11

test('with up to six processes, each process has the pool sizes of a single process', () => {
  for (const processes of upTo(6)) expect(connections(processes)).toEqual([4, 4, 3])
})

test('24 web processes, a worker and a replacement process fit into 100 Postgres connections', () => {
  for (const processes of upTo(24))
    expect(processes * sum(connections(processes)) + 2 * full).toBeLessThan(97)
})

test('each process has at least one connection in each pool', () => {
  for (const processes of upTo(64)) expect(Math.min(...connections(processes))).toBeGreaterThan(0)
})

test('every web process uses the whole value of BACKGROUND_CONNECTIONS', () => {
  const env = { BACKGROUND_CONNECTIONS: '8', WEB_CONCURRENCY: '12' }
  const { web, worker } = childEnvs(readConfig(env), env)
  expect([readConfig(web), readConfig(worker)]).toMatchObject([
    { backgroundConnections: 8, readConnections: 2, webConcurrency: 1 },
    { backgroundConnections: 8, readConnections: 4, webConcurrency: 1 },
  ])
})
