import { commands } from '../../clients/cli/src/commands.ts'
import { shellWords } from './shell-words.ts'
import { runDocket } from './scene.ts'

const rejecting = async () => new Response(null, { status: 401 })
const run = (line: string[], input = '') => runDocket(line, { env: {}, fetch: rejecting, input })

test.each([
  [['tasks', '--statsu', 'TODO'], 'Unknown option --statsu: did you mean --status?'],
  [['comment', '1', '-5'], 'Unknown option -5: write -- before a text that begins with -'],
  [['tasks', '--status'], '--status needs a value'],
  [['tasks', '--project', '--json'], '--project needs a value'],
  [['tasks', '--json=yes'], '--json accepts no value'],
  [['tasks', '--limit', '0'], '--limit must be a whole number of at least 1'],
  [['add'], 'Missing required positional argument: TITLE'],
  [['add', 'Draw', 'the', 'plate'], 'Unexpected argument the: write a text with spaces in quotes'],
  [['login', '--url', 'http://localhost'], 'Missing required argument: --token'],
  [
    ['login', '--url', 'ftp://localhost', '--token', 't'],
    '--url must be an address like https://docket.example.com',
  ],
  [['undo', '--seq', '1', '--batch', '2'], 'undo accepts --seq or --batch, but not both'],
  [['claim-next', '--lease', '5'], '--lease must be a whole number from 10 to 86400'],
  [['completion', 'tcsh'], 'The shell must be one of bash, zsh, fish'],
  [['batch'], 'batch reads operations from standard input, but the input is empty'],
  [['--json', 'tasks'], 'Options follow the command: docket tasks --json'],
  [['frobnicate'], 'Unknown command frobnicate: docket --help lists the commands'],
])('rejects wrong usage with exit code 2, one line and no request: %j', async (line, message) => {
  expect(await run(line)).toEqual({ code: 2, out: '', err: `docket: ${message}\n` })
})

test('docket --help lists the commands and exit codes; without arguments the exit code is 2', async () => {
  const { code, out } = await run(['--help'])
  expect(code).toBe(0)
  for (const { name, about } of commands)
    expect(out).toMatch(new RegExp(`^  ${name} +${about.slice(0, 20)}`, 'm'))
  expect(await run([])).toEqual({ code: 2, out: '', err: out })
  expect((await run(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test.each(commands.map(({ name }) => name))(
  'the help of %s has examples, and the command accepts their options',
  async (name) => {
    const { code, out } = await run([name, '--help'])
    expect(code).toBe(0)
    expect(out).not.toContain('\u001b')
    expect((await run(['help', name])).out).toBe(out)
    const [, examples = ''] = out.split('EXAMPLES\n\n')
    const lines = examples.split('\n').filter(Boolean)
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      const { code } = await run(shellWords(line), '{"op":"token"}')
      // Without a valid token, only `logout` and `completion` succeed.
      expect([line, code]).toEqual([line, /logout|completion/.test(name) ? 0 : 4])
    }
  },
)
