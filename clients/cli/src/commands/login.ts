import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Cli } from '../cli.ts'
import { command, json } from '../command.ts'
import { usageError } from '../failure.ts'
import { openClient } from '../service/connect.ts'
import { originOf, readStored, writeStored } from '../service/session.ts'
import { printable } from '../terminal/text.ts'

export const login = command({
  name: 'login',
  about: 'Check a token, and store it with the address of the service',
  args: {
    url: { type: 'string', required: true, valueHint: 'address', description: 'The address of the service' },
    token: {
      type: 'string',
      required: true,
      valueHint: 'token',
      description:
        'An API token or access token; - reads it from standard input, which hides it from lists of processes',
    },
    ...json,
  },
  examples: [
    'docket login --url https://docket.example.com --token - < token.txt',
    'docket login --url http://localhost:3000 --token dkt_...',
  ],
  async run(cli, { url: given, token: text, json }) {
    const url = originOf(given, '--url')
    const token = text === '-' ? await readToken(cli) : text
    if (!token || /\s/.test(token)) throw usageError('--token must be a token without spaces')
    const { id, name, email } = await openClient(cli, { url, token }).account.get()
    const { url: oldUrl, project } = await readStored(cli.env)
    const file = await writeStored(cli.env, { url, token, ...(oldUrl === url && project && { project }) })
    if (json) return cli.out.json({ url, user: { id, name, email }, file })
    await cli.out.line(`Signed in to ${url} as ${printable(name)} (${printable(email)}); stored in ${file}`)
  },
})

/** Returns the first line of standard input. A terminal does not show this line. */
async function readToken({ input, err }: Cli): Promise<string> {
  const isTerminal = input.isTTY === true
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: hidden, terminal: isTerminal })
  // On a terminal, readline reads Ctrl-C as a key in place of a signal.
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  if (isTerminal) await err.write('Token: ')
  const line = await new Promise<string>((resolve) => {
    lines.once('line', resolve)
    lines.once('close', () => resolve(''))
  })
  lines.close()
  if (isTerminal) await err.line()
  return line.trim()
}

export const logout = command({
  name: 'logout',
  about: 'Delete the stored address and token; the token stays valid',
  args: {},
  examples: ['docket logout'],
  async run({ env, out }) {
    const { url } = await readStored(env)
    if (url) await writeStored(env, {})
    await out.line(url ? `Signed out of ${url}` : 'Not signed in')
  },
})
