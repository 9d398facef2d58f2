import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { nilId } from '../../src/id-format.ts'
import { type Conditions, joined } from './conditions.ts'
import { planSearch, planWithoutSample, type Sample } from './cost/estimate.ts'
import { kinds } from './indexing/rows.ts'
import type { LookUp, Sizes } from './cost/look-up.ts'
import type { HitKey, Newest } from './parameters.ts'
import { readSizes } from './cost/sizes.ts'

/** The hits of a search are the newest documents that match: at most this many. */
export const maxHits = 200

/** More than the documents of any project. */
export const allDocuments = 2 ** 31 - 1

const sampleDocuments = 2_000

/** The sample has 2,000 of the newest documents, of all projects together. Returns how many of each project. */
export const samplePerProject = (projectIds: string[]): number =>
  Math.ceil(sampleDocuments / Math.max(1, projectIds.length))

export type Kind = (typeof kinds)[keyof typeof kinds]

export interface FoundDocument extends HitKey {
  kind: Kind
}

export interface Wanted {
  conditions: Conditions
  projectIds: string[]
  kinds: Kind[]
  /** Only this document and older ones: a later page ignores documents that were created after the first page. */
  newest: Newest | null
  /** The sizes for the words of the conditions, if they are known. */
  sizes?: Sizes
  /** For each word of the search, its similar words: any titles with them suffice, not the newest. */
  similar?: Similarities[]
}

/** The similarity of each similar word, the most similar first. */
export type Similarities = Map<string, number>

/** Similar titles are searched in this many documents with the words: about one in six has them in the title. */
const documentsForTitles = 2_000

/**
 * Returns the newest documents that match, at most `maxHits`. Rare words are looked up in the index of words. For other
 * words, each project's newest documents are read first, without this index. They are a sample for the choice of the next
 * step if older documents may contain hits: reading more of the newest documents, which finds common words, or the index.
 */
export async function findDocuments(sql: Sql, wanted: Wanted): Promise<FoundDocument[]> {
  const { words } = wanted.conditions
  const sizes = wanted.sizes ?? (await readSizes(sql, wanted.projectIds, words))
  const maxFound = wanted.similar && documentsForTitles
  const cheap = planWithoutSample(words, sizes, maxFound)
  if (cheap) return findByWords(sql, wanted, cheap)
  const sample = await readNewest(sql, wanted, { perProject: samplePerProject(wanted.projectIds), words })
  if (!sample.isCut || sample.found.length === maxHits) return sample.found
  const plan = planSearch(words, sample, sizes, maxHits, maxFound)
  for (const { since, documents } of plan.windows) {
    const { found } = await readNewest(sql, wanted, { perProject: documents, since })
    if (found.length === maxHits) return found
  }
  if (plan.readsAll) return (await readNewest(sql, wanted, { perProject: allDocuments })).found
  const newest = plan.since ? await findByWords(sql, wanted, plan, plan.since) : []
  return newest.length === maxHits ? newest : findByWords(sql, wanted, plan)
}

interface NewestWindow {
  /** The most documents of each project. */
  perProject: number
  /** Only documents after this time. */
  since?: string
  words?: Conditions['words']
}

/** A row for each hit, each with the sample; one row without a hit if there is none. */
type NewestRow = Omit<Sample, 'words'> & FoundDocument & { isCut: boolean; words: string[] }

/**
 * Reads the newest documents of each project, and returns the hits as far as no other document can be newer. If the
 * window has no limit of time and `isCut` is false, there are no other hits.
 */
async function readNewest(sql: Sql, wanted: Wanted, window: NewestWindow) {
  const rows = await unprepared(sql<NewestRow[]>`${amongNewest(sql, wanted, window)}`)
  const { documents, hits, rate, topMs, isCut, words } = rows[0]!
  const found = rows.filter(({ id }) => id !== null)
  return { found, isCut, documents, hits, rate, topMs, words: words.map(Number) }
}

function amongNewest(sql: Sql, wanted: Wanted, { perProject, since, words = [] }: NewestWindow): SqlPart {
  const { whole } = wanted.conditions
  const has = words.map(({ text }) => (text === whole ? sql`s.fits` : sql`s.doc @@ ${text}::tsquery`))
  const counts = words.map((_, n) => sql`count(*) filter (where has[${n + 1}::int])::text`)
  return sql`
    with newest as materialized (
      select p.id as project_id, s.id, s.kind, s.at, s.fits, case when s.fits then s.doc end as doc,
        array[${joined(sql, has, sql`,`)}]::boolean[] as has
      from unnest(${wanted.projectIds}::uuid[]) p(id)
      cross join lateral (
        select s.id, s.kind, s.at, s.doc, ${matches(sql, wanted)} as fits
        from search s where s.project_id = p.id ${upTo(sql, wanted)}
          ${after(sql, since)}
        order by s.at desc, s.id desc limit ${perProject}) s),
    cuts as materialized (select min(at) as at from newest group by project_id having count(*) = ${perProject}),
    cut as materialized (select max(at) as at, count(*) > 0 as is_cut, coalesce(sum(${Math.max(1, perProject - 1)}
      / (extract(epoch from (select max(at) from newest) - at) + 1)), 1)::float8 as rate from cuts),
    sample as materialized (select count(*)::int as documents, (count(*) filter (where fits))::int as hits,
      (extract(epoch from max(at)) * 1000)::float8 as top_ms,
      array[${joined(sql, counts, sql`,`)}]::text[] as words from newest)
    select sample.*, cut.is_cut, cut.rate, s.id, s.kind, s.at, ${rank(sql, wanted)} as rank
    from sample cross join cut left join lateral (
      select * from newest where fits and (not cut.is_cut or at > cut.at)
      order by at desc, id desc limit ${maxHits}) s on true
    order by s.at desc, s.id desc`
}

/** Finds the hits by the index of words. The function `ts_match_vq` is `@@`, but never part of the look-up. */
function findByWords(sql: Sql, wanted: Wanted, { lookUp, byProject }: LookUp, since?: string) {
  const fits = sql`ts_match_vq(s.doc, ${wanted.conditions.whole}::tsquery)`
  return unprepared(sql<FoundDocument[]>`
    select s.id, s.kind, s.at, ${rank(sql, wanted)} as rank from (
      select s.id, s.kind, s.at, s.doc from search s
      where s.doc @@ ${lookUp}::tsquery and ${ofProjects(sql, wanted.projectIds, byProject)}
        and s.kind = any(${wanted.kinds}::bigint[]) ${upTo(sql, wanted)} ${after(sql, since)}
      ${wanted.similar ? sql`limit ${documentsForTitles}` : sql`and ${fits} order by s.at desc, s.id desc limit ${maxHits}`}) s
    ${wanted.similar ? sql`where ${fits}` : sql``} order by s.at desc, s.id desc limit ${maxHits}`)
}

const after = (sql: Sql, since?: string): SqlPart =>
  since ? sql`and s.at > ${since}::text::timestamptz` : sql``

/** SQL that selects projects: as part of a look-up for each project, or as a condition on the documents found. */
export const ofProjects = (sql: Sql, projectIds: string[], byProject: boolean): SqlPart =>
  byProject
    ? sql`s.project_id = any(${projectIds}::uuid[])`
    : sql`nullif(s.project_id, ${nilId}::uuid) = any(${projectIds}::uuid[])`

const matches = (sql: Sql, { conditions, kinds }: Wanted): SqlPart =>
  sql`(s.kind = any(${kinds}::bigint[]) and s.doc @@ ${conditions.whole}::tsquery)`

const upTo = (sql: Sql, { newest }: Wanted): SqlPart =>
  newest ? sql`and (s.at, s.id) <= (${newest.at}::text::timestamptz, ${newest.id}::uuid)` : sql``

/** SQL: all terms are in the title, or some are; then comments, then descriptions. */
const rank = (sql: Sql, { conditions, similar }: Wanted): SqlPart =>
  similar
    ? dissimilarity(sql, similar)
    : sql`case when s.doc @@ ${conditions.allInTitle}::tsquery then 1
        when s.doc @@ ${conditions.someInTitle}::tsquery then 2
        when s.kind = ${kinds.comment} then 3 else 4 end`

/** SQL: 1 minus the mean similarity of each word to the most similar word of the title. */
function dissimilarity(sql: Sql, similar: Similarities[]): SqlPart {
  const best = similar.map(
    (
      words,
    ) => sql`(select coalesce(max((${JSON.stringify(Object.fromEntries(words))}::text::jsonb ->> word)::float8), 0)
      from unnest(tsvector_to_array(ts_filter(s.doc, '{a}'))) word)`,
  )
  return sql`round((1 - (${joined(sql, best, sql`+`)}) / ${similar.length}::float8)::numeric, 4)::float8`
}
