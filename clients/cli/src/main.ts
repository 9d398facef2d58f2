import { constants } from 'node:os'
import process from 'node:process'
import type { Cli, SignalName } from './cli.ts'
import { exitCodes } from './failure.ts'
import { run } from './run.ts'
import { openFetch } from './service/proxy.ts'
import { Output } from './terminal/output.ts'

const { env, argv, stdin, stdout, stderr } = process
const listeners = new Set<(name: SignalName) => void>()

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => {
    if (listeners.size === 0) {
      // Erases a progress bar.
      if (stderr.isTTY) stderr.write('\r\u001b[K')
      process.exit(128 + constants.signals[name])
    }
    for (const listener of listeners) listener(name)
  })

// The reader of a pipe, such as `head`, may stop early.
for (const stream of [stdout, stderr])
  stream.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? exitCodes.ok : exitCodes.error),
  )

const cli: Cli = {
  env,
  out: new Output(stdout, env),
  err: new Output(stderr, env),
  fetch: openFetch(env),
  input: stdin,
  onSignal(listener) {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
}

process.exit(await run(cli, argv.slice(2)))
