import type { TObject } from '@sinclair/typebox'
import type { Command } from '../commands/command.ts'
import { Body, isIdSchema } from '../commands/input.ts'
import type { Run } from '../commands/run.ts'
import type { Caller } from '../identity/caller.ts'
import { Message, operation } from '../schema/operation.ts'
import type { ErrorStatus } from '../wire/refusals.ts'
import { canonicalId } from '../ids.ts'
import type { Conditions, Write } from './write.ts'

/** What a guarded route knows of its request. */
export interface Asked {
  request: Request
  caller: Caller
  params: Record<string, string>
  body?: unknown
}

/**
 * Gives a route all it needs for a command: its path, a handler, and what the document says. Elysia reads a handler's
 * text to know what to prepare, so it takes its argument apart itself.
 */
export const openRunCommand =
  (run: Run, write: Write) =>
  <Input extends object, Row>(path: string, command: Command<Input, Row>, summary: string) => {
    const { name, madeAt } = command
    const inputOf = readInput(path, command)
    const answer = ({ request, caller, params, body = null }: Asked): Promise<Response> => {
      const input = inputOf(params, body)
      const where = madeAt && ((id: string) => madeAt(id, input))
      const work = ({ ifMatch, guard }: Conditions) => run({ name, input, caller, ifMatch, guard })
      return write(request, caller.userId, body, work, where)
    }
    const hooks = hooksOf(path, command, summary)
    // Elysia would parse a body that the command has no use for.
    const handle =
      'body' in hooks
        ? ({ request, caller, params, body }: Asked) => answer({ request, caller, params, body })
        : ({ request, caller, params }: Asked) => answer({ request, caller, params })
    return [path, handle, hooks] as const
  }

/** The fields of the input that the path gives, by the name they have there: `:id` is what the command runs at. */
function inPath(path: string, { at, input }: Command): [string, string][] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return names.map((name) => [name, name in input.properties || at.kind === 'new' ? name : at.key])
}

/** Puts path and body together as the command's input, without what a body may hold beside it. */
function readInput<Input extends object, Row>(path: string, command: Command<Input, Row>) {
  const given = inPath(path, command)
  const keys = keysOfBody(command.input, given)
  const ids = keys.filter((key) => isIdSchema(command.input.properties[key]!))
  return (params: Record<string, string>, body: unknown): Input => {
    const input: Record<string, unknown> = {}
    const fields = (body ?? {}) as Record<string, unknown>
    for (const key of keys) if (fields[key] !== undefined) input[key] = fields[key]
    for (const key of ids) if (typeof input[key] === 'string') input[key] = canonicalId(input[key])
    for (const [name, key] of given) input[key] = params[name]
    return input as Input
  }
}

const keysOfBody = ({ properties }: TObject, given: [string, string][]): string[] =>
  Object.keys(properties).filter((key) => !given.some(([, one]) => one === key))

function hooksOf<Row>(path: string, command: Command<never, Row>, summary: string) {
  const { about, input, least, shows, says = '', status } = command
  const keys = keysOfBody(input, inPath(path, command))
  const fields = Object.fromEntries(keys.map((key) => [key, input.properties[key]!]))
  const body = keys.length > 0 && shows ? Body(fields, shows.schema) : undefined
  const takes = roles.includes(least) ? `Takes the role ${least}.` : ''
  return {
    ...(body && { jsonBody: true, body }),
    ...operation({
      tag: tagOf(command),
      summary,
      description: [about, takes].filter(Boolean).join(' '),
      answers: { status, schema: shows?.schema ?? Message(says), description: done[status] },
      refuses: refusalsOf(command, body !== undefined),
    }),
  }
}

const roles = ['EDITOR', 'ADMIN']
const done = { 200: 'Done: as it is now', 201: 'Made' }

function refusalsOf<Row>({ at, refuses = [], status }: Command<never, Row>, hasBody: boolean): ErrorStatus[] {
  const found: ErrorStatus[] = at.kind === 'new' ? [] : [403, 404]
  return [
    ...found,
    ...(status === 200 ? ([412] as const) : []),
    ...(hasBody ? ([413, 415] as const) : []),
    ...refuses,
    ...([400, 422] as const),
  ]
}

const tagOf = ({ name }: { name: string }): string => {
  const noun = name.slice(0, name.indexOf('.'))
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`
}
