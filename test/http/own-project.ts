import type { Operation } from '../kit.ts'

/** Returns the query parameters without which no call of the operation succeeds. */
export const queryFor = ({ operationId }: Operation, projectId: string): string =>
  ({ search: '?q=x', createImport: '?source=csv', countTasks: `?projectId=${projectId}` })[operationId] ?? ''
