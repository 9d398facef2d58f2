const openPart = (priority: string) => `priority = '${priority}' and status <> 'DONE' and claimed_by is null`

/**
 * SQL conditions of the indexes that have a project's tasks in their order. Each task meets exactly one. The filters
 * leave out parts without a matching task.
 */
export const partsInOrder = (status?: string, priority?: string): string[] => [
  ...['LOW', 'MEDIUM', 'HIGH'].flatMap((one) =>
    status === 'DONE' || (priority ?? one) !== one ? [] : openPart(one),
  ),
  ...((status ?? 'DONE') === 'DONE' ? [`status = 'DONE' and claimed_by is null`] : []),
  'claimed_by is not null',
]
