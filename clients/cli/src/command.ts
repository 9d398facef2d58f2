import { parseArgs as parseTokens } from 'node:util'
import { type ArgDef, type ArgsDef, parseArgs } from 'citty'
import { closest, distance } from 'fastest-levenshtein'
import { type Failure, usageError } from './failure.ts'
import type { Cli } from './cli.ts'

/** An error suggests the nearest option if at most this many characters differ. */
const maxMisspelling = 2

type Value<A extends ArgDef> = A extends { type: 'boolean' }
  ? boolean | undefined
  : A extends { type: 'positional' }
    ? A extends { required: false }
      ? string | undefined
      : string
    : A extends { required: true }
      ? string
      : string | undefined

export type Values<A extends ArgsDef> = { [Name in keyof A]: Value<A[Name]> } & {
  /** All positional arguments. */
  _: string[]
}

interface Definition<A extends ArgsDef> {
  name: string
  about: string
  /** More about the command, for its help. */
  details?: string
  args: A
  /** The name of further positional arguments. If missing, the command accepts none. */
  rest?: string
  examples: string[]
  /** Returns the exit code, by default 0. */
  run(cli: Cli, args: Values<A>): Promise<number | void>
}

export interface Command extends Omit<Definition<ArgsDef>, 'run'> {
  /** @throws Failure if the arguments are wrong */
  execute(cli: Cli, given: string[]): Promise<number>
}

export const json = {
  json: { type: 'boolean', description: 'Print JSON for programs' },
} as const

/** @param what the rows, such as events */
export const limitOption = (what: string, fallback: number) =>
  ({
    limit: {
      type: 'string',
      valueHint: 'number',
      description: `At most this many ${what}, by default ${fallback}`,
    },
  }) as const

export const project = {
  project: {
    type: 'string',
    alias: 'p',
    valueHint: 'id or name',
    description: 'The project; by default $DOCKET_PROJECT, then the project of `docket use`',
  },
} as const

export const key = {
  key: {
    type: 'string',
    valueHint: 'text',
    description: 'An idempotency key: a second command with the same key changes nothing',
  },
} as const

export function command<const A extends ArgsDef>(definition: Definition<A>): Command {
  const { args, rest, run } = definition
  return {
    ...definition,
    async execute(cli, given) {
      checkArguments(given, args, rest)
      return (await run(cli, valuesOf(given, args))) ?? 0
    },
  }
}

function valuesOf<A extends ArgsDef>(given: string[], args: A): Values<A> {
  try {
    // The types of citty ignore that an argument may be absent.
    return { ...parseArgs(given, args), ...negatedIn(given, args) } as unknown as Values<A>
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

/** Returns the options such as --no-wait, which citty reads as the absence of another option. */
const negatedIn = (given: string[], args: ArgsDef) =>
  Object.fromEntries(
    Object.keys(args).flatMap((name) =>
      name.startsWith('no-') && given.includes(`--${name}`) ? [[name, true]] : [],
    ),
  )

function unknownOption(given: string, names: string[]): Failure {
  const nearest = closest(given.slice(2), names)
  const isNear = distance(given.slice(2), nearest) <= maxMisspelling
  const advice = isNear ? `did you mean --${nearest}?` : 'write -- before a text that begins with -'
  return usageError(`Unknown option ${given}: ${advice}`)
}

/** Rejects unknown options and missing values, because citty accepts them. @throws Failure 2 */
function checkArguments(given: string[], args: ArgsDef, rest?: string): void {
  const all = Object.entries(args)
  const options = Object.fromEntries(
    all.flatMap(([name, option]) => {
      const { type } = option
      const short = 'alias' in option && typeof option.alias === 'string' ? { short: option.alias } : {}
      return type === 'positional'
        ? []
        : [[name, { type: type === 'boolean' ? type : 'string', ...short } as const]]
    }),
  )
  const { tokens } = parseTokens({
    args: given,
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const option = options[token.name]
    const isNext = token.inlineValue === false && token.value?.startsWith('--')
    if (!option) throw unknownOption(token.rawName, Object.keys(options))
    if (option.type === 'string' && (token.value === undefined || isNext))
      throw usageError(`${token.rawName} needs a value`)
    if (option.type === 'boolean' && token.value !== undefined)
      throw usageError(`${token.rawName} accepts no value`)
  }
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? token.value : []))
  const allowed = all.filter(([, { type }]) => type === 'positional').length
  if (!rest && words.length > allowed)
    throw usageError(`Unexpected argument ${words[allowed]}: write a text with spaces in quotes`)
}
