import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { difference } from '../docs/page.ts'
import { read, root } from '../architecture/source.ts'

export interface Step {
  /** The word before the prompt, such as the name of a person. */
  by: string
  command: string
  shown: string
}

/**
 * Returns the sections of the files in a folder. A section begins with its title after `##`; then each line that contains
 * the prompt `$ ` is a command, and the lines below it are the output, in which `…` stands for any text within a line. Each
 * section of a file begins with the commands before the first title.
 */
export function sessionsIn(folder: string): [title: string, steps: Step[]][] {
  const files = readdirSync(join(root, folder)).map((name) => read(`${folder}/${name}`).text)
  return files.flatMap((text) => {
    const [start = '', ...sections] = text.split(/^## /m)
    return sections.map((section): [string, Step[]] => {
      const [title = '', ...lines] = section.split('\n')
      return [title, stepsIn([...start.split('\n').filter(Boolean), ...lines])]
    })
  })
}

function stepsIn(lines: string[]): Step[] {
  const steps: Step[] = []
  for (const line of lines) {
    const [, by, command] = /^(\w*)\$ (.*)$/.exec(line) ?? []
    if (command !== undefined) steps.push({ by: by!, command, shown: '' })
    else if (steps.length > 0) steps.at(-1)!.shown += `${line}\n`
  }
  return steps
}

const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

type Run = (command: string, by: string, shown: string) => Promise<string>

/** Runs the commands of a section. In a command, `$1` stands for the first id that the output contained, and so on. */
export async function expectSession(steps: Step[], run: Run): Promise<void> {
  const ids = new Set<string>()
  for (const { by, command, shown } of steps) {
    const given = command.replace(/\$(\d+)/g, (_, n) => [...ids][Number(n) - 1]!)
    const printed = await run(given, by, shown)
    for (const [found] of printed.matchAll(id)) ids.add(found)
    expect([command, difference(printed, shown)]).toEqual([command, undefined])
  }
}
