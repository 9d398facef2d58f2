/** The most levels of objects and lists. */
export const maxDepth = 64
/** The longest text. */
export const maxValueBytes = 1_000_000
/** The longest text that is not imported, such as the bytes of an attachment. */
export const maxSkippedBytes = 16 * 1024 * 1024
/** The largest part of a file that is read at once, such as a card. */
export const maxEntryCharacters = 4_000_000
/** The most lists, labels, members or custom fields. */
export const maxNames = 20_000
/** The most rows of a list that belongs to cards, such as the list of all cards' labels. */
export const maxLinks = 200_000
/** The most characters of the parts that are in memory while the cards are read. */
export const maxKeptCharacters = 32_000_000
