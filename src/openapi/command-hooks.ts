import type { Command } from '../commands/command.ts'
import { nounAt } from '../commands/decide.ts'
import { Body, Input, Parameters } from '../commands/input.ts'
import { roleNeeded, suffices } from '../identity/roles.ts'
import { boundToken } from '../identity/scopes.ts'
import { Message, sampleId } from '../schema/answer.ts'
import { named } from '../schema/named.ts'
import { notFound, type Refusal } from '../wire/refusals.ts'
import { inPath, keysOfBody } from '../commands/read-input.ts'
import { operation } from './operation.ts'

/** What Elysia and the document know of a command at a path: its body, and all that is said of it. */
export function commandHooks<Row>(path: string, command: Command<never, Row>, summary: string) {
  const { about, least, madeAt, name, scope, shows, says = '', status } = command
  const id = operationId(name)
  const given = inPath(path, command)
  const body = bodyOf(command, given, capital(id))
  const takes = least === 'EDITOR' || least === 'ADMIN' ? `Takes the role ${least}.` : ''
  const where = Object.fromEntries(given.map(([, key]) => [key, sampleId]))
  return {
    ...(body && { jsonBody: true, body }),
    ...operation({
      id,
      tag: `${nounOf(name)}s`,
      summary,
      scope,
      description: [about, takes].filter(Boolean).join(' '),
      does: status === 201 ? 'add' : 'change',
      body,
      query: queryOf(command),
      answers: {
        status,
        description: done[status],
        ...(shows
          ? { schema: shows.schema, tagged: !shows.untagged, versioned: shows.untagged }
          : { schema: Message, example: { message: says } }),
        madeAt: madeAt?.(sampleId, where as never),
      },
      refuses: refusalsOf(command),
    }),
  }
}

const done = { 200: 'Done: as it is now', 201: 'Made', 204: 'Done' }

function bodyOf<Row>(command: Command<never, Row>, given: [string, string][], name: string) {
  const { input, shows } = command
  const keys = keysOfBody(command, given)
  const fields = Object.fromEntries(keys.map((key) => [key, input.properties[key]!]))
  if (keys.length === 0 || !shows) return undefined
  const { examples } = input // of a body of which not all may be said at once
  const own = { ...Input(fields), ...(examples && { examples }) }
  return named(name, shows.untagged ? own : Body(fields, shows.schema))
}

const queryOf = <Row>({ input, inQuery }: Command<never, Row>) =>
  inQuery && Parameters(Object.fromEntries(inQuery.map((key) => [key, input.properties[key]!])))

/** What its rule says it refuses, and what every command at such a place does. */
function refusalsOf<Row>({ at, into, least, refuses = [] }: Command<never, Row>): Refusal[] {
  if (at.kind === 'new') return [...refuses, boundToken()]
  if (least === 'nobody') return refuses
  const role = suffices('VIEWER', least) ? [] : [roleNeeded(least)]
  return [...role, ...refuses, notFound(nounAt(at)), ...(into ? [notFound('Project')] : [])]
}

/** `member.set_role` is setMemberRole. */
function operationId(name: string): string {
  const [verb = '', ...rest] = name.slice(name.indexOf('.') + 1).split('_')
  return [verb, nounOf(name), ...rest.map(capital)].join('')
}

const nounOf = (name: string): string => capital(name.slice(0, name.indexOf('.')))
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
