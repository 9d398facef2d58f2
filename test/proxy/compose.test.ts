import { readFileSync } from 'node:fs'
import { read, readConfig } from '../kit.ts'
import { composed, composition, configs, configuration } from './proxy.ts'

const services = composed
const { proxy, web, worker } = services

test("only the proxy publishes a port, and Compose sets every variable that the proxy's configuration uses", () => {
  const published = Object.entries(services).filter(([, { ports }]) => ports)
  expect(published.map(([name]) => name)).toEqual(['proxy'])
  expect(proxy.volumes).toEqual(['./ops/haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro'])
  const used = [...readFileSync(configuration, 'utf8').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!)
  expect(Object.keys(proxy.environment).sort()).toEqual(used.sort())
})

test('Compose has no default password and requires each password', () => {
  const passwords = [...composition.matchAll(/\$\{(\w*(?:PASSWORD|SECRET))([^}]*)\}/g)]
  expect(new Set(passwords.map(([, name]) => name))).toEqual(
    new Set(['JWT_SECRET', 'POSTGRES_PASSWORD', 'REDIS_PASSWORD']),
  )
  for (const [, name, rest] of passwords) expect([name, rest]).toEqual([name, expect.stringMatching(/^:\?./)])
})

test('Redis requires the password that the service sends, and no command line contains it', () => {
  const { redis } = services
  const [, password] = /^requirepass (\$\{REDIS_PASSWORD[^}]*\})$/m.exec(configs.redis!.content)!
  expect(password).toContain('REDIS_PASSWORD')
  for (const { environment } of [web, worker])
    expect(environment.REDIS_URL).toMatch(/^redis:\/\/:\$\{REDIS_PASSWORD[^}]*\}@redis:6379$/)
  expect(redis!.environment.REDISCLI_AUTH).toContain('REDIS_PASSWORD')
  for (const { command } of Object.values(services)) expect(command ?? '').not.toContain('PASSWORD')
})

test('every image is pinned at least to a minor version', () => {
  const dockerfile = [...read('Dockerfile').text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!)
  const images = Object.values(services).flatMap(({ image, build }) => (build ? [] : image))
  for (const image of [...images, ...dockerfile])
    expect(image).toMatch(/(:\d+\.\d+(\.\d+)?-\w+|@sha256:[0-9a-f]{64})$/)
})

test('the settings of the containers are valid, and the service trusts the proxy', () => {
  for (const { environment } of [web, worker]) {
    const given = Object.entries(environment).map(([name, value]) => [
      name,
      String(value).replace(/\$\{[^}]*\}/g, ''),
    ])
    const { JWT_SECRET: _, JWT_EXPIRATION: __, ...env } = Object.fromEntries(given)
    const { trustProxy, ...config } = readConfig(env)
    expect(config).toMatchObject({ port: 3000, metricsHost: '0.0.0.0' })
    expect([0, 1].map((hop) => trustProxy!(undefined, hop))).toEqual([true, false])
  }
  expect(web.environment.PORT).toBe(Number(String(proxy.environment.WEB).split(':')[1]))
})

test('the health check of the image sends its request to the service itself, whatever proxy is set', async () => {
  const [, words = '[]'] = /HEALTHCHECK[^\n]*\\\n\s+CMD (\[.*\])/.exec(read('Dockerfile').text) ?? []
  const [program, ...args] = JSON.parse(words) as string[]
  expect(program).toBe('bun')
  let status = 200
  await using service = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('', { status }),
  })
  const checked = (proxies: Record<string, string>) => {
    const env = { PATH: process.env.PATH!, PORT: String(service.port), ...proxies }
    return Bun.spawn([process.execPath, ...args], { env, stderr: 'ignore' }).exited
  }
  const nowhere = 'http://127.0.0.1:1'
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'all_proxy'])
    expect([name, await checked({ [name]: nowhere })]).toEqual([name, 0])
  status = 503
  expect(await checked({})).toBe(1)
  await service.stop(true)
  expect(await checked({})).toBe(1)
})
