import { stripVTControlCharacters } from 'node:util'
import { DocketError, PreconditionRequiredError } from '../../typescript/src/index.ts'
import manifest from '../package.json' with { type: 'json' }
import type { Cli } from './cli.ts'
import { commands } from './commands.ts'
import { exitCodeOf, exitCodes, Failure, usageError } from './failure.ts'
import { commandHelp, overview } from './help.ts'
import { printable } from './terminal/text.ts'

const { version } = manifest

/** Runs one command and returns its exit code. An error is one line on standard error. */
export async function run(cli: Cli, given: string[]): Promise<number> {
  try {
    return await dispatch(cli, given)
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error))
    const message = printable(stripVTControlCharacters(messageOf(failure)))
    await cli.err.line(`${cli.err.style('red', 'docket:')} ${message}`)
    if (failure instanceof Failure) return failure.exitCode
    return failure instanceof DocketError ? exitCodeOf(failure.status) : exitCodes.error
  }
}

/** Adds the ETag that a repeat needs, or the code of a lost connection, such as ECONNREFUSED, which only a cause contains. */
function messageOf(error: Error): string {
  const { message, cause } = error
  if (error instanceof PreconditionRequiredError) return `${message}. The ETag is now ${error.etag}`
  for (let one = cause; one instanceof Error; one = one.cause)
    if ('code' in one) return `${message} (${one.code})`
  return message
}

async function dispatch(cli: Cli, [name, ...rest]: string[]): Promise<number> {
  const { out, err } = cli
  if (name === '--version') {
    await out.line(version)
    return exitCodes.ok
  }
  const isHelp = name === 'help' || isHelpOption(name)
  const wanted = isHelp ? rest.find((word) => !isHelpOption(word)) : name
  if (wanted === undefined) {
    await overview(isHelp ? out : err, version, commands)
    return isHelp ? exitCodes.ok : exitCodes.usage
  }
  const found = commands.find((command) => command.name === wanted)
  if (wanted.startsWith('-')) throw usageError(`Options follow the command: docket tasks ${wanted}`)
  if (!found) throw usageError(`Unknown command ${wanted}: docket --help lists the commands`)
  const end = rest.indexOf('--')
  const options = end < 0 ? rest : rest.slice(0, end)
  if (!isHelp && !options.some(isHelpOption)) return found.execute(cli, rest)
  await commandHelp(out, found)
  return exitCodes.ok
}

const isHelpOption = (word: string | undefined) => word === '--help' || word === '-h'
