import { type Figure, FULL, type Table, type Tell } from './figure.js'
import { recordOf } from './record.js'

/** The tables of a figure with a row for each seed instead of one for all. */
export async function bySeed(figure: Figure, tell: Tell, part: number = FULL.part): Promise<Table[]> {
  const runs: { seed: number; tables: readonly Table[] }[] = []
  for (const [skip, seed] of (figure.seeds ?? []).entries()) {
    const findings = await figure.make({ part, seeds: 1, skip }, (step) => tell(`seed ${seed}: ${step}`))
    runs.push({ seed, tables: recordOf(figure, findings).tables })
  }
  return (runs[0]?.tables ?? []).map(({ title, head, rows }, table) => ({
    title: `${title}, seed by seed`,
    head: [head[0]!, 'seed', ...head.slice(1)],
    rows: rows.flatMap((_, row) =>
      runs.map(({ seed, tables }) => {
        const [name, ...cells] = tables[table]!.rows[row]!
        return [name!, String(seed), ...cells]
      }),
    ),
  }))
}
