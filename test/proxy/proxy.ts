import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../architecture/source.ts'

export const configuration = join(root, 'ops/haproxy.cfg')

/** Where the proxy is, and what it is told. */
export interface Place {
  BIND: string
  WEB: string
  DNS: string
}

const env = (place: Place) => ({ PATH: process.env.PATH, ...place })

const missing = (cause: Error) => new Error('haproxy is missing: npm run test:all installs it', { cause })

/** Has the proxy read its configuration, and gives what it says to it. */
export function checked(place: Place) {
  const { status, stdout, stderr, error } = spawnSync('haproxy', ['-c', '-f', configuration], {
    env: env(place),
    encoding: 'utf8',
  })
  if (error) throw missing(error)
  return { status, output: (stdout + stderr).trim() }
}

export function startProxy(place: Place) {
  const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']
  const child = spawn('haproxy', ['-db', '-f', configuration], { env: env(place), stdio })
  child.stderr.on('data', (said: Buffer) => {
    if (said.includes('[ALERT]')) console.error(String(said))
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
