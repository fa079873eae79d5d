import type { Table } from '../figures/figure.js'
import type { Summary } from './trial.js'

/** The modules of the rule that have constants. */
export const RULE_FILES: readonly string[] = ['state', 'virtual-clock', 'capacity', 'fair-clock', 'proof', 'flows'].map(
  (name) => `fair/clock/${name}`,
)

/** The rule with a constant `times` what it is; as it is, if there is none. */
export interface Variant {
  readonly file?: string
  readonly name?: string
  readonly value?: number
  readonly times?: number
}

/** A line for each constant: how much harm there is, and what fails, with half of it and with twice as much. */
export function sensitivityTable(
  variants: readonly (Variant & { readonly summary: Summary })[],
  [first, last]: readonly [number, number],
): Table {
  const told = ({ summary }: { readonly summary: Summary }): string[] =>
    [summary.harm, summary.needless, 1 - summary.good, summary.failed].map((x) => (100 * x).toFixed(2))
  const asIs = variants.find(({ name }) => name === undefined)!
  const keys = new Set(variants.flatMap(({ file, name }) => (name === undefined ? [] : [`${file} ${name}`])))
  const rows = [...keys].map((key) => {
    const [half, double] = [0.5, 2].map(
      (by) => variants.find((one) => `${one.file} ${one.name}` === key && one.times === by)!,
    )
    const cells = told(half!).map((cell, i) => `${cell} – ${told(double!)[i]}`)
    return [`\`${half!.name}\``, half!.file!.replace(/.*\//, ''), String(half!.value), ...cells]
  })
  return {
    id: 'constants',
    title: `Random worlds ${first} to ${last} with half of each constant, and with twice as much: per cent`,
    head: ['constant', 'file', 'value', 'harm', 'needless', 'not served of well-behaved', 'failed of admitted'],
    rows: [['as it is', '', '', ...told(asIs)], ...rows],
  }
}
