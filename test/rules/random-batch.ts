import type { World } from './world.ts'

export function batchOf(world: World, me: string, choices: number[]): object[] {
  const [one, other] = [world.tasks[0]!, world.tasks.at(-1)!]
  const [subtask, comment] = [world.subtasks.at(-1), world.comments.at(-1)]
  const label = world.labels.find(({ projectId }) => projectId === world.projects[0]!.id)
  const field = world.fields.find(({ projectId }) => projectId === world.projects[0]!.id)
  const some = choices.flatMap((n): object[] => {
    const as = `a${n}`
    const all: object[] = [
      { op: 'task.create', title: `B${n}` },
      { op: 'task.update', id: one.id, title: `B${n}`, status: n % 3 ? 'DONE' : 'TODO' },
      { op: 'task.update', id: other.id, description: `B${n}`, assigneeId: n % 2 ? me : null },
      ...(one === other
        ? []
        : [
            { op: 'task.update', id: one.id, [n % 3 ? 'addBlockedByIds' : 'removeBlockedByIds']: [other.id] },
          ]),
      { op: 'task.update', id: one.id, place: n % 2 ? 'first' : 'last' },
      ...(one === other ? [] : [{ op: 'task.update', id: one.id, after: other.id, title: `B${n}` }]),
      { op: 'task.create', title: `B${n}`, before: other.id },
      { op: 'label.create', name: `B${n % 7}` },
      ...(label
        ? [
            { op: 'task.update', id: one.id, addLabelIds: [label.id] },
            { op: 'label.delete', id: label.id },
          ]
        : []),
      { op: 'field.create', key: `k${n % 3}`, name: `B${n}`, type: n % 2 ? 'text' : 'number' },
      ...(field
        ? [
            { op: 'task.update', id: one.id, fields: { [field.key]: null } },
            { op: 'field.delete', id: field.id },
          ]
        : []),
      { op: 'subtask.create', taskId: one.id, title: `B${n}` },
      { op: 'comment.create', taskId: other.id, text: `B${n}` },
      { op: 'project.update', id: world.projects[0]!.id, name: `B${n}` },
      ...(subtask
        ? [
            { op: 'subtask.toggle', id: subtask.id },
            { op: 'subtask.delete', id: subtask.id },
          ]
        : []),
      ...(comment ? [{ op: 'comment.delete', id: comment.id }] : []),
      { op: 'task.delete', id: n % 2 ? one.id : other.id },
      ...(world.members[0] ? [{ op: 'member.remove', memberId: world.members[0].id }] : []),
    ]
    if (n === 98)
      return [
        { op: 'task.create', as, title: 'New', blockedByIds: [other.id] },
        { op: 'task.update', id: one.id, addBlockedByIds: [`#${as}`] },
      ]
    return n === 99
      ? [
          { op: 'task.create', as, title: 'New' },
          { op: 'task.delete', id: `#${as}` },
        ]
      : [all[n % all.length]!]
  })
  return some
}
