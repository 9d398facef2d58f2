import { type Answer, type Client, expectError, expiresAt, faultsOf, type Person, type Sql } from '../kit.ts'

/** Clients by the name of their user or token. */
type Clients = Record<string, Client & Partial<Pick<Person, 'id' | 'email'>>>
/** What a step does that is no request, by its first word. */
type Verbs = Record<string, (...words: string[]) => Promise<unknown>>

/**
 * Declares a test for each scenario of `scenarios/<name>.txt`. The steps before the first title run before each scenario.
 * A step is a request, `caller[,caller] METHOD path [(header: value)…] [{body}] [as name]`, and may continue with
 * `-> status` and the message of an error, or what the response contains. Without `->`, the status must be 200 to 204.
 * `$name` stands for the id of a user or of a row with this title or name, `$name.field` for a field of the row, and
 * `$tomorrow` for a time; the field `etag` is the ETag of the response. In the message of an error, `…` stands for any text.
 */
export async function testScenarios(name: string, people: Clients, sql: Sql, verbs: Verbs = {}) {
  const text = await Bun.file(new URL(`scenarios/${name}.txt`, import.meta.url)).text()
  const [start = [], ...scenarios] = text.split(/^# /m).map((part) => part.split('\n'))
  const stepsIn = (lines: string[]) => lines.filter((line) => line.trim() !== '')
  test.each(scenarios.map(([title, ...lines]) => [title!, stepsIn(lines)] as const))(
    '%s',
    async (_, lines) => {
      const run = openSteps(people, verbs)
      for (const line of [...stepsIn(start), ...lines]) await run(line)
    },
  )
  test(`after the scenarios (${name}), the stored rows agree with the log`, async () => {
    expect(await faultsOf(sql)).toEqual([])
  })
}

const request = /^([\w,]+) ([A-Z]+) (\S+)((?: \([\w-]+: [^)]*\))*)(?: (\{.*\}))?(?: as (\w+))?$/
const headersIn = (text: string) =>
  Object.fromEntries(text.matchAll(/\(([\w-]+): ([^)]*)\)/g).map(([, name, value]) => [name, value] as const))

function openSteps(people: Clients, verbs: Verbs) {
  const clients: Clients = { ...people }
  const values: Record<string, string | undefined> = { tomorrow: expiresAt }
  for (const [name, { id, email }] of Object.entries(people))
    Object.assign(values, { [name]: id, [`${name}.email`]: email })
  const fill = (text: string) =>
    text.replace(/\$(\w+(?:\.\w+)?)/g, (_, name: string) => {
      if (values[name] === undefined) throw new Error(`No step has created $${name}`)
      return values[name]
    })

  async function send(line: string): Promise<void> {
    const [sent, expected = ''] = fill(line).split(' -> ')
    const found = request.exec(sent!)
    if (!found) throw new Error('This step is not a request')
    const [, callers = '', method = '', path = '', headers = '', body, alias] = found
    for (const caller of callers.split(',')) {
      if (!clients[caller]) throw new Error(`No step has created the caller ${caller}`)
      const answer = await clients[caller].call(
        method,
        path,
        body && Bun.YAML.parse(body),
        headersIn(headers),
      )
      check(answer, expected)
      const row = { ...answer.body, etag: answer.headers.get('etag') } as unknown as Record<string, string>
      const known = alias ?? row.title ?? row.name
      if (!known || answer.status >= 300) continue
      for (const [field, value] of Object.entries(row)) values[`${known}.${field}`] = value
      if (row.id) values[known] = row.id
      const token = row.token ?? row.access_token
      if (token) clients[known] = clients[caller].as(token)
    }
  }

  return async (line: string): Promise<void> => {
    const [verb = '', ...words] = line.split(' ')
    try {
      await (verbs[verb] ? verbs[verb](...words.map(fill)) : send(line))
    } catch (error) {
      throw new Error(`${line}\n${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

function check(answer: Answer, expected: string): void {
  const [, status, rest = ''] = /^(\d{3})?\s*(.*)$/.exec(expected)!
  if (!status) return void expect([answer.status <= 204, answer.text]).toEqual([true, answer.text])
  const wanted = Number(status)
  if (wanted >= 400) {
    const parts = rest.split('…').map(RegExp.escape)
    return expectError(answer, wanted, rest === '' ? undefined : new RegExp(`^${parts.join('.*')}$`))
  }
  expect([answer.status, answer.text]).toEqual([wanted, answer.text])
  if (rest === '') return
  const part = Bun.YAML.parse(rest) as object
  if (Array.isArray(part)) expect(answer.body).toHaveLength(part.length)
  expect(answer.body as unknown).toMatchObject(part)
}
