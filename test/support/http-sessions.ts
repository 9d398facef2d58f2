import type { Sql } from '../../src/postgres/database.ts'
import { until } from '../../src/local/server.ts'
import { difference } from '../docs/page.ts'
import { type Client, type Person, register } from './client.ts'
import { expectSession, sessionsIn } from './sessions.ts'

interface Section {
  /** The client of commands without a name before the prompt. */
  client: Client
  /** The database of the command `sql`. */
  sql?: Sql
  /** The accounts by their names. Others are created when a command needs them. */
  people?: Record<string, Person>
  /** Texts that `$` and their names stand for. */
  values?: Record<string, string>
  /** Commands beside requests. They return their outputs. */
  commands: Record<string, (rest: string, by: Client) => unknown>
}

const timeoutMs = 50_000

/**
 * Runs each section of the files in a folder as a test. `ada$ post PATH BODY KEY` sends a request of the account Ada, if
 * there is a key, as its Idempotency-Key; `@ada` stands for the email of the account, and `@ADA` for the email in capital
 * letters. `until` repeats a command until the output is as shown.
 */
export function testSessions(folder: string, open: () => Section | Promise<Section>): void {
  test.each(sessionsIn(folder))('%s', async (_, steps) => {
    const { client, sql, people = {}, values = {}, commands } = await open()
    const emailOf = (word: string, name: string) => {
      const { email = word } = people[name.toLowerCase()] ?? {}
      return name === name.toLowerCase() || email === word ? email : email.toUpperCase()
    }
    async function print(by: Client, verb: string, rest: string): Promise<string> {
      if (commands[verb]) return String((await commands[verb](rest, by)) ?? '')
      if (verb === 'sql') {
        const rows = await sql!.unsafe(rest)
        return rows.columns ? JSON.stringify(rows) : ''
      }
      const [path = '', body, key] = rest.split(/ ({.*})? ?/)
      const headers: Record<string, string> = key ? { 'idempotency-key': key } : {}
      const { status, text } = await by.call(verb.toUpperCase(), path, body, headers)
      return `${status} ${text}`
    }
    await expectSession(steps, async (command, by, shown) => {
      const caller = by ? (people[by] ??= await register(client)) : client
      const [, isAwaited, verb = '', rest = ''] = /^(until )?(\w+) ?(.*)$/.exec(command)!
      const given = rest.replace(/@(\w+)/g, emailOf).replace(/\$(\w+)/g, (word, name) => values[name] ?? word)
      let printed = ''
      const isShown = async () => {
        printed = await print(caller, verb, given)
        for (const [name, { email }] of Object.entries(people))
          printed = printed.replaceAll(email, `@${name}`)
        return isAwaited && difference(printed, shown) ? undefined : true
      }
      await until(isShown, timeoutMs, { everyMs: 10 })
      return printed
    })
  })
}
