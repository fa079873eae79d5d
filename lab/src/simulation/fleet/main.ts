// Random worlds of several processes: harm by rule fair-clock in one process, in independent processes, and shared.
import { printTable } from '../../bench/table.js'
import { mean } from '../../worlds/harm.js'
import { type FleetTrial, tryFleet } from './worlds.js'

const [first = 1, last = 100] = process.argv.slice(2).map(Number)
const trials: FleetTrial[] = []
for (let seed = first; seed <= last; seed++) {
  const trial = tryFleet(seed)
  if (trial !== undefined) trials.push(trial)
}

printTable(
  ['', 'worlds', 'harm', '95 %', 'worst', 'good', 'Jain', 'failed'],
  (['one', 'alone', 'shared'] as const).map((way) => {
    const column = (name: 'harm' | 'good' | 'jain' | 'failed'): number[] =>
      trials.map((trial) => trial[way][name]).filter((value) => !Number.isNaN(value))
    const harms = column('harm').toSorted((x, y) => x - y)
    const cells = [
      mean(harms),
      harms[Math.floor(0.95 * (harms.length - 1))] ?? Number.NaN,
      harms.at(-1) ?? Number.NaN,
      ...(['good', 'jain', 'failed'] as const).map((name) => mean(column(name))),
    ]
    return [way, String(harms.length), ...cells.map((cell) => cell.toFixed(3))]
  }),
)
const worse = ({ shared, one }: FleetTrial): number => shared.harm - one.harm || 0
for (const trial of trials.toSorted((x, y) => worse(y) - worse(x)).slice(0, 8)) {
  const { seed, processes, one, alone, shared } = trial
  const harms = [one, alone, shared].map(({ harm }) => harm.toFixed(3)).join(', ')
  console.log(`seed ${seed}, ${processes} processes: ${harms}`)
}
