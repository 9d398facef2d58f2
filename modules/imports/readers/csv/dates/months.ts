/** In English, Spanish, German, French, Portuguese, Italian, Dutch and Polish, without accents. */
const languages = [
  'january february march april may june july august september october november december',
  'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre',
  'januar februar marz april mai juni juli august september oktober november dezember',
  'janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre',
  'janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro',
  'gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre',
  'styczen luty marzec kwiecien maj czerwiec lipiec sierpien wrzesien pazdziernik listopad grudzien',
  'stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia',
  'januari februari maart april mei juni juli augustus september oktober november december',
]
const minCharacters = 3

/** The months by their names and prefixes. Null: an ambiguous prefix. */
const months = new Map<string, number | null>([['mrt', 3]])
for (const names of languages)
  for (const [index, name] of names.split(' ').entries())
    for (let end = minCharacters; end <= name.length; end++) {
      const start = name.slice(0, end)
      const known = months.get(start)
      months.set(start, known === undefined || known === index + 1 ? index + 1 : null)
    }

/** Returns the month, from 1, that a name such as `Nov`, `noviembre` or `févr` means. */
export const monthNamed = (name: string): number | undefined =>
  months.get(name.toLowerCase()) ??
  months.get(name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()) ??
  undefined
