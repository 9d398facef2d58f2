/** What every read says, its refusals too: kept for its caller alone, and never shown without asking again. */
export const forCallerAlone = { 'cache-control': 'private, no-cache', vary: 'Authorization' }

/** What an answer depends on that is a stream or not, as its caller asks. */
export const varyByAccept = `${forCallerAlone.vary}, Accept`
