/** The part of an ETag for a response that changes at an instant without an event, such as the end of a claim. */
export const untilPart = (untilMs: number): string => `.u${untilMs.toString(36)}`

/** Adds to the ETag of a list the instant at which the list changes, and the last renaming of an account. */
export const timedEtag = (etag: string, untilMs: number, renaming: string): string =>
  `${etag.slice(0, -1)}${untilPart(untilMs)}.${renaming}"`
