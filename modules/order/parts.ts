const openPart = (priority: string) => `priority = '${priority}' and status <> 'DONE' and claimed_by is null`

/**
 * Returns the conditions of the partial indexes that sort a project's tasks by position. Each task meets exactly one
 * condition. With filters, returns only the conditions that a matching task can meet.
 */
export const partsInOrder = (status?: string, priority?: string): string[] => [
  ...['LOW', 'MEDIUM', 'HIGH'].flatMap((one) =>
    status === 'DONE' || (priority ?? one) !== one ? [] : openPart(one),
  ),
  ...((status ?? 'DONE') === 'DONE' ? [`status = 'DONE' and claimed_by is null`] : []),
  'claimed_by is not null',
]
