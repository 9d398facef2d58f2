import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, ofTask, type RuleContext } from '../../src/commands/command.ts'
import { responseRow } from '../../src/commands/decide.ts'
import { updated } from '../../src/model/events.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { namesVersion, requireMatch, textUnmatched } from '../../src/responses/if-match.ts'
import { hasLength } from '../../src/schema/text.ts'
import { rowFieldsOf } from './fields.ts'
import { AppendToTask, maxDescription, type TaskChange, taskView } from './schema.ts'

/**
 * In a project with `textEdits: "if-match"`, rejects a change of a text whose current version the caller does not name.
 * Texts that are empty now or were empty before the batch may be set.
 * @throws HttpError 428
 */
export function requireTextMatch(
  state: ProjectState,
  context: RuleContext,
  task: TaskRow,
  { title, description }: Pick<TaskChange, 'title' | 'description'>,
): void {
  if (state.project?.textEdits !== 'if-match' || context.overwritesTexts || namesVersion(context)) return
  const before = context.rowBefore ? (context.rowBefore(task.id) as TaskRow | undefined) : task
  if (!before) return
  const wanted = rowFieldsOf({ title, description }, state)
  const names = (['title', 'description'] as const).filter(
    (name) => wanted[name] !== undefined && wanted[name] !== task[name] && task[name] && before[name],
  )
  if (names.length === 0) return
  const shown = responseRow(state, 'task', before, context.now)
  const suffix = taskView.etagSuffix!(shown, state.people.get(shown.claimedBy ?? ''))
  throw textUnmatched({
    id: task.id,
    etag: `"${shown.eventId}${suffix}"`,
    ...Object.fromEntries(names.map((name) => [name, before[name]!])),
  })
}

const tooLong = () =>
  badRequest(`text must leave the description at most ${maxDescription} characters: send a shorter text`)

export const appendToTask = command('task.append', {
  about:
    'Adds a text to the end of the description, after a blank line. It replaces no text of another writer, so it never needs `If-Match`. A repeat adds the text again, unless it has the same Idempotency-Key.',
  input: AppendToTask,
  target: ofTask(),
  role: 'EDITOR',
  decide(state, context, { id, field, text }) {
    const task = state.requireRow('task', id)
    requireMatch(context, task)
    const [existing, added] = [task[field], text.trim()]
    const joined = existing ? `${existing}\n\n${added}` : added
    if (!hasLength(joined, { maxLength: maxDescription })) throw tooLong()
    const change = updated(state, context, 'task.updated', task, { [field]: joined, updatedAt: context.now })
    return { changes: [change], answer: change.after }
  },
  view: taskView,
  errors: [tooLong()],
})
