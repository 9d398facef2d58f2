import { type Static, Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { maxSeq, maxWaitSeconds } from '../../events/parameters.ts'
import { type Event, hasNames, shownEvent } from '../answers/events.ts'
import { openNames } from '../answers/names.ts'
import { Budget } from '../answers/budget.ts'
import { projectIdOf } from '../names/name-lookup.ts'
import { cursorOf, read, withQuery } from '../requests.ts'
import type { Call, Tool } from '../tool.ts'
import { Count, EventTypes, ProjectName } from './arguments.ts'

const input = Input({
  project: ProjectName,
  after: Count(
    0,
    maxSeq,
    'A whole number, `after` of the previous answer, or `version` of find: only later events; 0 lists all',
  ),
  wait: Count(0, maxWaitSeconds, `A whole number from 0 to ${maxWaitSeconds}: seconds to wait for a change`),
  types: EventTypes,
  next: Type.Optional(
    Type.String({
      maxLength: 20,
      pattern: '^[0-9]{1,15}$',
      description: 'A text, `next` of the previous answer',
    }),
  ),
})

const pageEvents = 100

export const changes: Tool = {
  name: 'changes',
  description:
    'List the changes of a project after a version, in order, without gaps. Can wait for the next change.',
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run({ project, after = 0, wait, types, next }: Static<typeof input>, call: Call) {
    const start = next === undefined ? after : Number(next)
    const projectId = await projectIdOf(call, project)
    const path = `/projects/${projectId}/events`
    const page = await read<Event[]>(call, withQuery(path, { after: start, wait, types, limit: pageEvents }))
    const budget = new Budget({})
    const names = page.body.some(hasNames) ? await openNames(call)(projectId) : new Map()
    const rows = page.body.map((event) => shownEvent(event, names))
    const end = rows.findIndex((row) => !budget.add(row))
    if (end >= 0) return answerOf(rows.slice(0, end), page.body[end - 1]!.seq, true)
    const upTo = cursorOf(page)
    const last = upTo ?? (types ? page.headers.get('docket-version') : page.body.at(-1)?.seq) ?? start
    return answerOf(rows, Number(last), upTo !== undefined)
  },
}

const answerOf = (rows: object[], after: number, hasMore: boolean) => ({
  changes: rows,
  after,
  ...(hasMore && { next: String(after) }),
})
