import type { Context, Decision } from '../../src/actor/events.ts'
import type { Reply } from '../../src/actor/reply.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { Services } from '../../src/services.ts'
import type { Kind, Places } from './places.ts'

/** A task, or what hangs on one. For a task both ids are its own. */
interface Ref {
  id: string
  taskId: string
}

const names: Record<Kind, string> = { task: 'Task', subtask: 'Subtask', comment: 'Comment' }

export type WriteAt = ReturnType<typeof openWriteAt>

/** Runs a rule on a task, a subtask or a comment, wherever its task is now, and sends the answer. */
export function openWriteAt({ actors, write }: Services, places: Places) {
  return (
    kind: Kind,
    id: string,
    asked: { request: Request; caller: string; body?: unknown; madeAt?: (id: string) => string },
    rule: (state: ProjectState, context: Context, ref: Ref) => Decision<Reply>,
  ): Promise<Response> =>
    write(
      asked.request,
      asked.caller,
      asked.body ?? null,
      (conditions) =>
        places.at(kind, id, names[kind], ({ projectId, taskId }) =>
          actors.run({
            projectId,
            caller: asked.caller,
            needs: { task: [taskId], [kind]: [id] },
            ...conditions,
            decide: (state, context) => rule(state, context, { id, taskId }),
          }),
        ),
      asked.madeAt,
    )
}
