import type { Cli } from '../cli.ts'
import { command, json } from '../command.ts'
import { usageError } from '../failure.ts'
import { openClient } from '../service/connect.ts'
import { originOf, readStored, writeStored } from '../service/session.ts'
import { harmless } from '../terminal/text.ts'

export const login = command({
  name: 'login',
  about: 'Check a token, and store it with the address of the service',
  args: {
    url: { type: 'string', required: true, valueHint: 'address', description: 'The address of the service' },
    token: {
      type: 'string',
      required: true,
      valueHint: 'token',
      description: 'A token of the service; - reads standard input, so that no other user sees the token',
    },
    ...json,
  },
  examples: [
    'docket login --url https://docket.example.com --token - < token.txt',
    'docket login --url http://localhost:3000 --token dkt_...',
  ],
  async run(cli, { url: given, token: text, json }) {
    const url = originOf(given, '--url')
    const token = text === '-' ? await firstLine(cli) : text
    if (!token || /\s/.test(token)) throw usageError('--token must be a token without spaces')
    const { id, name, email } = await openClient(cli, { url, token }).account.get()
    const { url: oldUrl, project } = await readStored(cli.env)
    const file = await writeStored(cli.env, { url, token, ...(oldUrl === url && project && { project }) })
    if (json) return cli.out.json({ url, user: { id, name, email }, file })
    await cli.out.line(`Signed in to ${url} as ${harmless(name)} (${harmless(email)}); stored in ${file}`)
  },
})

/** Returns the first line, so that a person need not end the input. */
async function firstLine({ input, err }: Cli): Promise<string> {
  if (input.isTTY) await err.write('Token: ')
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text.includes('\n')) break
  }
  return text.split('\n')[0]!.trim()
}
