import type { ImportedPerson } from '../../items.ts'
import { CommentCounts } from '../json/comment-counts.ts'
import type { Entry } from '../json/entry.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxLinks } from '../json/limits.ts'
import { KeyMap } from '../key-map.ts'
import { type Board, personOf } from './board.ts'

/** Keys of a board whose values are not imported. */
export const details = [
  'limits',
  'attachmentsByType',
  'cover',
  'descData',
  'pluginData',
  'previews',
  'prefs',
  'display',
  'nonPublic',
  'old',
  'perms',
]

const creations = ['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard']

/** An author has fewer characters. */
const maxNameCharacters = 1_000

/** The comments and the creators of cards, as far as the file contains their actions. */
export interface Actions {
  comments: CommentCounts
  /** The names of the creators, by the ids of cards. */
  creators: KeyMap<string>
}

/** Trello writes only the newest 1,000 actions. Comments and the creations of cards are actions. */
export async function actionsOf(file: JsonFile, board: Board): Promise<Actions> {
  const [comments, creators] = [new CommentCounts(), new KeyMap<string>()]
  for await (const action of file.read(['actions.*'], { omit: [...details, 'text'] })) {
    const commented = commentedCard(action)
    if (commented !== undefined) comments.add(commented)
    const created = creations.includes(action.text('type') ?? '') ? cardIn(action) : undefined
    const creator = memberOf(action, board)?.name
    if (created !== undefined && creator !== undefined && creators.size < maxLinks)
      creators.set(created, creator.slice(0, maxNameCharacters))
  }
  return { comments, creators }
}

const cardIn = (action: Entry) => action.entry('data')?.entry('card')?.text('id')

/** Returns the id of the card if the action is a comment. */
export function commentedCard(action: Entry): string | undefined {
  const type = action.text('type')
  return type === 'commentCard' || type === 'copyCommentCard' ? cardIn(action) : undefined
}

export const memberOf = (action: Entry, board: Board): ImportedPerson | undefined =>
  personOf(action.entry('memberCreator')) ?? board.member(action.text('idMemberCreator'))
