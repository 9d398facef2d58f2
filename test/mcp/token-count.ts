import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

export const maxAnswerCharacters = 20_000
export const maxDefinitionTokens = 3_000
export const tokensIn = (text: string): number => countTokens(text)
