// What most tests use, so that a test has one import. Helpers of one folder stay in that folder.
export { freePort } from '../src/local/server.ts'
export { until } from '../src/local/wait.ts'
export { newId } from '../src/ids.ts'
export { readConfig } from '../src/config.ts'
export { openLog } from '../src/logger.ts'
export { openDatabase, type Sql } from '../src/postgres/database.ts'
export { read, root, sourcesIn } from './architecture/source.ts'
export { Random } from './faults/random.ts'
export { applyEvent, emptyReplica, type FeedEvent, readFeed, type Replica } from './http/feed.ts'
export { allPages, nextPath } from './http/list-pages.ts'
export { chunk, expectRawError, requestHead, sendRaw } from './http/raw.ts'
export {
  type Message,
  openStream,
  openStreamIn,
  parseMessages,
  streamBodyIn,
  takeEvents,
} from './http/streaming.ts'
export { changesOf, expectUndone, openUndoScene, type UndoResponse } from './http/undo-scene.ts'
export { anId, aTimestamp, expectError, expectResponse, isReplay, malformedIds } from './http/responses.ts'
export { remainingBudget, replayedParts, statusAndMessage, unknownId } from './http/responses.ts'
export {
  callers,
  createFullProject,
  fillPath,
  openProject,
  openTeam,
  type ProjectParts,
} from './http/scene.ts'
export { registerTeam, seqOf, type Team, unreachableUrl } from './http/scene.ts'
export { at, deleteAndPurge, eventually, makeProjects, openPair, openWebs, type Pair } from './races/pair.ts'
export { startPair, statuses, tally, upTo } from './races/pair.ts'
export { type Answer, type Body, type Client, expiresAt, invite, make, makeToken } from './support/client.ts'
export {
  openClient,
  type Person,
  register,
  runBatch,
  type Token,
  versionOf,
  withToken,
} from './support/client.ts'
export {
  freshDatabase,
  holdTransaction,
  rowsRead,
  terminateConnections,
  untilBlocked,
} from './support/database.ts'
export { cases, sampleOf } from './support/depth.ts'
export { faultsByProject, faultsIn, faultsOf, visibleIn } from './support/history.ts'
export { listen } from './support/listen.ts'
export { type FreshRedis, freshRedis, sharedRedisPrefix } from './support/redis.ts'
export { openScene } from './support/scene.ts'
export {
  type OpenApi,
  type Operation,
  operationOf,
  operationsOf,
  resolveSchema,
} from './support/schema-check.ts'
export { type Schema, schemaErrors, undocumentedParts } from './support/schema-check.ts'
export { clockShiftedBy, disposable, forFile, freshEnv, mainFile, newFolder } from './support/service.ts'
export {
  openForEach,
  openTestService,
  runtimeOptions,
  type ServiceProcess,
  spawnService,
} from './support/service.ts'
export {
  testSecret,
  type TestService,
  untilRedisReady,
  withOneDatabase,
  withService,
} from './support/service.ts'
export { openTcpProxyTo } from './support/tcp-proxy.ts'
export { openWebProcess } from './support/web-process.ts'
export { words } from './support/words.ts'
