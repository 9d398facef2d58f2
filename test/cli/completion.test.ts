import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { commands } from '../../clients/cli/src/commands.ts'
import { runDocket } from './scene.ts'

const execute = promisify(execFile)
const scriptFor = async (shell: string) => (await runDocket(['completion', shell], { env: {} })).out

test.each([
  [['tai'], ['tail']],
  [
    ['tasks', '--due'],
    ['--due-after', '--due-before'],
  ],
  [['tasks', '--status', 'IN'], ['IN_PROGRESS']],
  [['completion', 'f'], ['fish']],
  [['add', '--labels', ''], []],
])('bash completes %j to %j', async (words, expected) => {
  const script = `${await scriptFor('bash')}
COMP_WORDS=(docket ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_docket; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await execute('bash', ['-c', script])
  expect(stdout.split('\n').filter(Boolean)).toEqual(expected)
})

test.each(['zsh', 'fish'])('the script for %s names every command and option', async (shell) => {
  const script = await scriptFor(shell)
  for (const { name, args } of commands) {
    expect(script).toContain(name)
    for (const [option, { type }] of Object.entries(args))
      if (type !== 'positional') expect(script).toContain(shell === 'fish' ? `-l ${option} ` : `--${option}[`)
  }
})
