import { type ArgsDef, renderUsage } from 'citty'
import { stripVTControlCharacters } from 'node:util'
import type { Command } from './command.ts'
import type { Output } from './terminal/output.ts'

const maxHintCharacters = 40

const exitCodesText = `EXIT CODES

  0  success
  1  error
  2  wrong usage
  3  not found, or no task is ready
  4  not signed in, or not allowed
  5  conflict: the resource, version or claim has changed
  6  the service is not available
`

/** Prints the help of one command. */
export async function commandHelp(out: Output, command: Command): Promise<void> {
  const { name, about, details, args, rest, examples } = command
  const usage = await renderUsage({
    meta: { name: `docket ${name}`, description: about },
    args: withShortHints(args),
  })
  const text = rest ? usage.replace(/^(.*USAGE.*)$/m, `$1 [${rest}]...`) : usage
  const note = details ? `${details}\n\n` : ''
  const shown = examples.map((example) => `  ${example}`).join('\n')
  await print(out, `${text}\n${note}${out.style('bold', 'EXAMPLES')}\n\n${shown}`)
}

/** Moves long lists of values to the descriptions, because the column of the options is as wide as the longest. */
const withShortHints = (args: ArgsDef): ArgsDef =>
  Object.fromEntries(
    Object.entries(args).map(([name, option]) => {
      const hint = 'valueHint' in option ? option.valueHint : undefined
      if (!hint || hint.length <= maxHintCharacters) return [name, option]
      const description = `${option.description}: ${hint.replaceAll('|', ', ')}`
      return [name, { ...option, valueHint: name, description }]
    }),
  )

/** Prints the list of commands. */
export async function overview(out: Output, version: string, commands: Command[]): Promise<void> {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`)
  await print(
    out,
    [
      `The command line of Docket, the project and task tracker (docket ${version})`,
      '',
      `${out.style('bold', 'USAGE')} docket <command> [options]`,
      '',
      out.style('bold', 'COMMANDS'),
      '',
      ...lines,
      '',
      'docket <command> --help shows the options and examples of a command.',
      '',
      exitCodesText,
    ].join('\n'),
  )
}

/** citty writes styles even if the output is not a terminal, and pads lines. */
const print = (out: Output, text: string) =>
  out.line((out.hasStyles ? text : stripVTControlCharacters(text)).replace(/ +$/gm, '').trimEnd())
