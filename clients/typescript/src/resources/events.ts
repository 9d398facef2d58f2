import type { Calls } from '../calls/calls.ts'

export const openEvents = (calls: Calls) => ({
  /** Reads the events of one project after a seq, oldest first. */
  list: calls.list('listEvents', 'GET /projects/{projectId}/events'),
  /** Reads the next events of several projects. */
  read: calls.write('readEvents', 'POST /events/read'),
})
