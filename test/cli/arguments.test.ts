import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { commands } from '../../clients/cli/src/commands.ts'
import { runDocket, wordsOf } from './scene.ts'

const rejecting = async () => new Response(null, { status: 401 })
const run = (line: string, input = '') => runDocket(wordsOf(line), { env: {}, fetch: rejecting, input })

test('docket --help lists the commands and exit codes; without arguments the exit code is 2', async () => {
  const { code, out } = await run('--help')
  expect(code).toBe(0)
  for (const { name, about } of commands)
    expect(out).toMatch(new RegExp(`^  ${name} +${about.slice(0, 20)}`, 'm'))
  expect(await run('')).toEqual({ code: 2, out: '', err: out })
  expect((await run('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/)
})

/** Returns the arguments of `docket` in a line of the help, without redirections. */
const argumentsIn = (line: string) => /(?:^|\| |\$\()\s*docket (.*?)(?: [<>] .*|\)"?)?$/.exec(line)?.[1] ?? ''

test('the help of each command has examples, and the command accepts their options', async () => {
  for (const { name } of commands) {
    const { code, out } = await run(`${name} --help`)
    expect([name, code, out.includes('\u001b')]).toEqual([name, 0, false])
    expect((await run(`help ${name}`)).out).toBe(out)
    const [, examples = ''] = out.split('EXAMPLES\n\n')
    const lines = examples.split('\n').filter(Boolean)
    expect([name, lines.length > 0]).toEqual([name, true])
    for (const line of lines) {
      const { code } = await run(argumentsIn(line), '{"op":"token"}')
      // Without a valid token, only `logout` and `completion` succeed.
      expect([line, code]).toEqual([line, /logout|completion/.test(name) ? 0 : 4])
    }
  }
})

test.each([
  ['tai', 'tail'],
  ['tasks --due', '--due-after --due-before'],
  ['tasks --status IN', 'IN_PROGRESS'],
  ['completion f', 'fish'],
  ["add --labels ''", ''],
])('bash completes %s to %s', async (line, expected) => {
  const script = `${(await run('completion bash')).out}
COMP_WORDS=(docket ${line}); COMP_CWORD=${wordsOf(line).length}; _docket; echo "\${COMPREPLY[@]}"`
  expect((await promisify(execFile)('bash', ['-c', script])).stdout.trim()).toBe(expected)
})

test.each([
  ['zsh', (option: string) => `--${option}[`],
  ['fish', (option: string) => `-l ${option} `],
])('the script for %s names every command and option', async (shell, shown) => {
  const { out } = await run(`completion ${shell}`)
  for (const { name, args } of commands) {
    expect(out).toContain(name)
    for (const [option, { type }] of Object.entries(args))
      if (type !== 'positional') expect(out).toContain(shown(option))
  }
})
