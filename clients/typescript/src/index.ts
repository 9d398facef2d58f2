export type { components, operations } from './api.ts'
export type { Page } from './calls/list.ts'
export { List } from './calls/list.ts'
export { Docket } from './docket.ts'
export * from './errors.ts'
export { etagOf } from './etags.ts'
export { ProjectClient } from './project.ts'
export type * from './schemas.ts'
export { Transport } from './transport.ts'
export type {
  CallOptions,
  Query,
  RequestOptions,
  Token,
  TransportOptions,
  WriteOptions,
} from './transport.ts'
export type { BatchOptions, BatchOutcome } from './batch/batch.ts'
export type { BatchBuilder } from './batch/types.ts'
export type { FeedEvent, Snapshot } from './feed/events.ts'
export type { FeedItem, FollowOptions } from './feed/follow.ts'
export { Mirror } from './feed/mirror.ts'
export type { MirrorChange } from './feed/mirror.ts'
export type { ClaimNext, ClaimOptions } from './work/claim-next.ts'
export { ClaimLostError } from './work/claimed-task.ts'
export type { Handler, WorkOptions } from './work/work.ts'
