import type { Guard } from '../commit/idempotency.ts'
import type { Caller } from '../identity/caller.ts'
import type { Person, Whom } from '../reads/people.ts'
import type { Part } from './places.ts'

/** A command as somebody asks for it: plain data from end to end. */
export interface Order {
  name: string
  input: object
  caller: Caller
  /** The caller's If-Match header. */
  ifMatch?: string
  /** The caller's Idempotency-Key; the answer is kept with the commit. */
  guard?: Guard
  /** The caller's request as a place in a trace, where traces are made. */
  traceparent?: string
}

/** What a command has looked up once its caller is authorized: people, and the tasks that parts hang on. */
export interface Sought {
  people: (Whom | undefined)[]
  parts: Part[]
  /** Ids that clients made for what they create. */
  ownIds: string[]
}

/** What was found of it, in the same order; null for what there is not. */
export interface Found {
  people: (Person | null)[]
  taskIds: (string | null)[]
  ownIds?: string[]
  /** Those of the own ids that something has, or had. */
  taken: string[]
}

/** An order on its way to its project. Plain data as well. */
export interface Dispatch extends Order {
  /** Its own id: the log's first event of it ends alike, so that whoever takes it over can see whether it stands. */
  id: string
  /** What the command's input looks like where it comes from: see registry.ts. */
  form: string
  /** It was given to another process before, which may have done it. */
  again?: true
  projectId: string
  /** The task that the thing it runs at hangs on. */
  taskId?: string
}
