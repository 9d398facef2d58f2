import { Type } from '@sinclair/typebox'
import { IdOf } from '../../src/schema/input.ts'
import type { Reading } from '../../src/commands/query.ts'
import { canonicalId, isId } from '../../src/ids.ts'
import { AsOfParameter, readAsOf, type Moment } from '../../src/log/as-of.ts'
import type { Services } from '../../src/services.ts'
import { etagOf, tagged } from '../../src/wire/answers.ts'
import { badRequest, notFound } from '../../src/wire/refusals.ts'
import { placeOf, taskThen } from './queries-then.ts'
import { taskView } from './schema.ts'

/** In plain reads: by an instant, many events of the task may be read. */
const costOfPlace = 10

type Means = Pick<Services, 'findRole' | 'moments' | 'spend'>

/** The parameters of a read of a task that may be answered as of a moment. */
export const asOfTask = () => ({
  asOf: AsOfParameter(),
  projectId: Type.Optional(
    Type.Unsafe<string>({
      ...IdOf('project'),
      description:
        'With asOf: the id of the project whose version that is, where the task may have moved since',
    }),
  ),
})
export const withoutAsOf = () => badRequest('projectId goes with asOf: it says whose version that is')

/** Whether a read is to be answered as of a moment. @throws Refusal 400 */
export function isOfPast({ asOf, projectId }: Reading['query']): boolean {
  if (asOf === undefined && projectId !== undefined) throw withoutAsOf()
  return asOf !== undefined
}

/** Answers a task as it was. @throws Refusal 400, 404, 410 or 429 */
export async function showThen(means: Means, reading: Reading): Promise<Response> {
  const { request, caller, params } = reading
  const moment = await momentOf(means, reading)
  const task =
    moment && (await means.moments.read(caller, moment, (sql) => taskThen(sql, moment, params.id!)))
  if (!task) throw notFound('Task')
  const body = JSON.stringify(taskView.of(task))
  return tagged(request, { etag: etagOf(task), body, link: null }, moment.version)
}

/**
 * The moment that `asOf` names, of a project that the caller is in today: undefined if there is none. Unless a project is
 * given, it is the one that the task is in or was in last, or at an instant was in then.
 * @throws Refusal 400
 */
export async function momentOf(
  { findRole, moments, spend }: Means,
  { caller, params, query }: Reading,
  given = query.projectId && canonicalId(query.projectId),
): Promise<Moment | undefined> {
  const { id = '' } = params
  const asOf = query.asOf!
  if (!isId(id)) return undefined
  const at = readAsOf(asOf)
  const instant = typeof at === 'string' ? at : null
  const place = { taskId: id, userId: caller.userId, instant, most: moments.most }
  const find = () => spend(caller, instant === null ? 1 : costOfPlace, (sql) => placeOf(sql, place))
  const projectId = given ?? (await find())
  const seen = projectId && isId(projectId) ? await findRole(caller, projectId) : undefined
  return seen && moments.find(seen, asOf)
}
