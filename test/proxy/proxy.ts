import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { read, root } from '../kit.ts'

export const configuration = join(root, 'ops/haproxy.cfg')

export type ProxyVariables = Record<'BIND' | 'WEB' | 'DNS', string>

const env = (variables: ProxyVariables) => ({ PATH: process.env.PATH, ...variables })

const missing = (cause: Error) => new Error('haproxy is missing: npm run test:all installs it', { cause })

export function checked(variables: ProxyVariables) {
  const { status, stdout, stderr, error } = spawnSync('haproxy', ['-c', '-f', configuration], {
    env: env(variables),
    encoding: 'utf8',
  })
  if (error) throw missing(error)
  return { status, output: (stdout + stderr).trim() }
}

export function startProxy(variables: ProxyVariables) {
  const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']
  const child = spawn('haproxy', ['-db', '-f', configuration], { env: env(variables), stdio })
  child.stderr.on('data', (output: Buffer) => {
    if (output.includes('[ALERT]')) console.error(String(output))
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('exit', () => resolve())
    child.once('error', (error) => reject(missing(error)))
  })
  return {
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

interface Service {
  image: string
  build?: string
  command?: string
  environment: Record<string, string | number>
  ports?: string[]
  volumes?: string[]
}

export const composition = read('docker-compose.yml').text

const parsed = Bun.YAML.parse(composition) as {
  services: Record<string, Service>
  configs: Record<string, { content: string }>
}

export const { configs } = parsed

export const composed = parsed.services as Record<'proxy' | 'web' | 'worker' | 'redis', Service>
