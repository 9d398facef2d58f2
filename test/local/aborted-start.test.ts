import { join } from 'node:path'
import { launch } from '../../src/local/process.ts'
import { waitUntilReady } from '../../src/local/server.ts'
import { newFolder } from '../kit.ts'

/** So many that one of them had no command line yet when it was stopped, if that mattered. */
const starts = 20

test('a server whose start is aborted at once ends', async () => {
  const dir = await newFolder('docket-aborted-')
  const server = {
    ...{ name: 'A server', dir, stopSignal: 'SIGTERM' as const },
    lastStart: () => Promise.reject(new Error('never started')),
    probe: () => Promise.reject(new Error('does not answer')),
  }
  for (let n = 0; n < starts; n++) {
    const command = ['/bin/sh', '-c', 'exec sleep 60', dir]
    const launched = launch({ command, cwd: '/', logFile: join(dir, 'log') })
    await expect(waitUntilReady(server, launched, 0, AbortSignal.abort())).rejects.toThrow('aborted')
    expect(launched.ended()).toBe(true)
  }
})
