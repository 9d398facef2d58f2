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
