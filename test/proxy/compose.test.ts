import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { readConfig } from '../../src/config.ts'
import { composed } from './composed.ts'
import { configuration } from './proxy.ts'

const { proxy, web, worker } = composed

test('containers: one address, which leads through the proxy that is tested, told all that it asks for', () => {
  const outside = Object.entries(composed).filter(([, { ports }]) => ports)
  expect(outside.map(([name]) => name)).toEqual(['proxy'])
  expect(proxy.volumes).toEqual(['./ops/haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro'])
  const asked = [...readFileSync(configuration, 'utf8').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!)
  expect(Object.keys(proxy.environment).sort()).toEqual(asked.sort())
})

test('containers: what the service is told is understood, and it believes the proxy', () => {
  for (const { environment } of [web, worker]) {
    const given = Object.entries(environment).map(([name, value]) => [
      name,
      String(value).replace(/\$\{[^}]*\}/g, ''),
    ])
    const { JWT_SECRET: _, JWT_EXPIRATION: __, ...env } = Object.fromEntries(given)
    expect(readConfig(env)).toMatchObject({ port: 3000, trustProxy: true, metricsHost: '0.0.0.0' })
  }
  expect(web.environment.PORT).toBe(Number(String(proxy.environment.WEB).split(':')[1]))
})
