import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../kit.ts'
import { expectSession, sessionsIn } from '../support/sessions.ts'
import { openCliScene, wordsOf } from './scene.ts'

const { ada, docket, join: joinProject, run, service } = await openCliScene()
service.startWorkers()

const unescaped = (text: string) =>
  text.replaceAll('\\n', '\n').replaceAll('\\r', '\r').replaceAll('\\ufeff', '\ufeff')

/** Returns JSON of several lines in one line, and other texts as they are. */
function inOneLine(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text)) + '\n'
  } catch {
    return text
  }
}

/*
 * Each section is a test with a project and a home folder of its own. The last line of an output is an exit code in
 * brackets, unless the code is 0. `<<<` passes a text to the standard input, and `write NAME` writes it to a file.
 * `bea$` runs the command as another member, and `nobody$` without settings in the environment.
 */
test.each(sessionsIn('test/cli/sessions'))('%s', async (_, steps) => {
  const { id } = await docket.projects.create({ name: 'Engine' })
  const { id: other } = await docket.projects.create({ name: 'Other' })
  const home = await newFolder()
  const bea = steps.some(({ by }) => by === 'bea') && (await joinProject(id, 'Bea'))
  const settingsOf: Record<string, Record<string, string>> = {
    nobody: { DOCKET_URL: '', DOCKET_TOKEN: '' },
    bea: { DOCKET_PROJECT: id, ...(bea && { DOCKET_TOKEN: bea.token! }) },
    '': { DOCKET_PROJECT: id },
  }
  await expectSession(steps, async (command, by) => {
    const values = { $home: home, $token: ada.token!, $project: id, $other: other }
    const given = command.replace(/\$[a-z]+/g, (name) => values[name as '$home'])
    const [, settings = '', name = '', rest = '', input = ''] =
      /^((?:[A-Z_]+=\S* )*)(\w+) (.*?)(?: <<< (.*))?$/.exec(given)!
    if (name === 'write') return (await writeFile(join(home, rest), unescaped(input)), '')
    const own = Object.fromEntries(wordsOf(settings).map((one) => one.split('=')))
    const env = { HOME: home, PATH: process.env.PATH!, ...settingsOf[by], ...own }
    const { code, out, err } = await run(wordsOf(rest), { env, input: unescaped(input) })
    return `${inOneLine(out)}${err}${code === 0 ? '' : `[${code}]`}`
  })
})
