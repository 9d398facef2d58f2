import { expectError, expiresAt, faultsOf, newId, nextPath, openScene, register, unknownId } from '../kit.ts'
import type { Answer } from '../kit.ts'
import { sessionsIn } from '../support/sessions.ts'

const { client, service, sql } = await openScene()

/** People, ids, and responses of earlier steps, by the names that the steps of a section use for them. */
type Names = Record<string, object>

const reference = /\$(\w+)((?:\.\w+)*)/g

function valueOf(names: Names, name: string, path = ''): unknown {
  const keys = path ? path.slice(1).split('.') : ['id']
  const found = keys.reduce<unknown>((value, key) => (value as Names | undefined)?.[key], names[name])
  if (found === undefined) throw new Error(`There is no $${name}${path}`)
  return found
}

const fillText = (names: Names, text: string) =>
  text.replace(reference, (_, name: string, path: string) => String(valueOf(names, name, path)))

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Replaces the references in all texts. A text that is only a reference becomes the value itself. */
function fill(names: Names, value: unknown): unknown {
  if (typeof value === 'string') {
    const [first] = value.matchAll(reference)
    return first?.[0] === value ? valueOf(names, first[1]!, first[2]) : fillText(names, value)
  }
  if (Array.isArray(value)) return value.map((one) => fill(names, one))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [fillText(names, key), fill(names, one)]),
  )
}

const patternOf = (text: string) => new RegExp(`^${text.split('…').map(RegExp.escape).join('.*')}$`, 's')

/** Returns `actual` with a `…` in place of everything that a `…` of `expected` stands for. */
function seenAs(expected: unknown, actual: unknown): unknown {
  if (typeof expected === 'string' && expected.includes('…'))
    return expected === '…' || patternOf(expected).test(String(actual)) ? expected : actual
  if (Array.isArray(expected) && Array.isArray(actual))
    return actual.map((one, n) => seenAs(expected[n], one))
  if (!isObject(expected) || !isObject(actual)) return actual
  const isPart = '…' in expected
  const fields = Object.entries(actual).filter(([name]) => !isPart || name in expected)
  const seen = fields.map(([name, one]) => [name, seenAs(expected[name], one)])
  return { ...Object.fromEntries(seen), ...(isPart && { '…': null }) }
}

/** Separates the headers from the text before them, which may have several lines. */
function partsOf(names: Names, lines: string[]): { text: string; headers: Record<string, string> } {
  const isHeader = (line: string) => /^ *[A-Z][\w-]+: /.test(line)
  const headers = lines.filter(isHeader).map((line) =>
    fillText(names, line)
      .trim()
      .split(/: (.*)/),
  )
  return { text: lines.filter((line) => !isHeader(line)).join(' '), headers: Object.fromEntries(headers) }
}

async function send(names: Names, by: string, lines: string[]): Promise<Answer> {
  const { text, headers } = partsOf(names, lines)
  const [, name, method = '', path = '', given] = /^(?:(\w+) = )?([A-Z]+) (\S+)(?: (.*))?$/.exec(text)!
  const input = given === undefined ? undefined : fill(names, Bun.YAML.parse(given))
  const operations = Array.isArray(input) ? (input as { as?: string }[]) : []
  const caller = names[by || 'ada'] as { token?: string; access_token?: string }
  const at = fillText(names, path)
  const url = at.startsWith('/') ? at : fillText(names, `/projects/$project/${at}`)
  const body = operations.length > 0 ? { operations } : input
  const answer = await client.as(caller.token ?? caller.access_token).call(method, url, body, headers)
  const more = { etag: answer.headers.get('etag'), next: nextPath(answer.headers) }
  if (name) names[name] = { ...answer.body, ...more, body: answer.body }
  const { results = [] } = (answer.body ?? {}) as unknown as { results?: object[] }
  for (const [n, { as }] of operations.entries()) if (as && results[n]) names[as] = results[n]
  return answer
}

function expectAnswer(names: Names, command: string, answer: Answer, lines: string[]): void {
  const { status, body, text } = answer
  if (lines.length === 0) return expect([command, status < 300, text]).toEqual([command, true, text])
  const { text: shown, headers } = partsOf(names, lines)
  const [, wanted = '', rest] = /^(\d{3})(?: (.*))?$/.exec(shown)!
  expect([command, String(status), text]).toEqual([command, wanted, text])
  if (status >= 400) expectError(answer, status, patternOf(fillText(names, rest ?? '…')))
  else if (rest) {
    const expected = fill(names, Bun.YAML.parse(rest))
    expect([command, seenAs(expected, body)]).toEqual([command, expected])
  }
  for (const [name, value] of Object.entries(headers)) {
    const received = answer.headers.get(name) ?? 'none'
    expect([command, name, seenAs(value, received)]).toEqual([command, name, value])
  }
}

/** Runs a command as Ada, with an input that no request may have, or that workers send. */
async function run(names: Names, command: string): Promise<void> {
  const [, name = '', input = ''] = /^RUN (\S+) (.*)$/.exec(command)!
  const caller = { userId: String(valueOf(names, 'ada')) }
  await service.services.run({ name, input: fill(names, Bun.YAML.parse(input)) as object, caller })
}

const beginning = [
  'project = POST /projects {name: Engine}',
  'task = POST /tasks {title: T, projectId: $project}',
]

/*
 * Each section is a test. Ada owns its project, which has one task: events 1 and 2. A path without `/` is below the
 * project, and a list is the operations of a batch. `bea$` is a request of Bea. `label = POST …` and `as` name a
 * response: `$label` is its id, and `$label.name` its field `name`. Indented lines continue a line, or are headers.
 * Without a line below it, a request must succeed. `RUN` and the name of a command runs it without a request.
 */
test.each(sessionsIn('test/http/sessions'))('%s', async (_, steps) => {
  const ids = { unknown: { id: unknownId }, free: { id: newId() }, tomorrow: { id: expiresAt } }
  const names: Names = { nobody: {}, ...ids }
  for (const name of ['Ada', 'Bea', 'Cay']) names[name.toLowerCase()] = await register(client, name)
  for (const line of beginning) await send(names, '', [line])
  for (const { by, command, shown } of steps) {
    if (command.startsWith('RUN ')) {
      await run(names, command)
      continue
    }
    const lines = shown.split('\n').filter(Boolean)
    const length = lines.findIndex((line) => !line.startsWith('  '))
    const more = lines.splice(0, length < 0 ? lines.length : length)
    expectAnswer(names, command, await send(names, by, [command, ...more]), lines)
  }
})

test('after all sections, the rows agree with the events', async () => {
  expect(await faultsOf(sql)).toEqual([])
})
