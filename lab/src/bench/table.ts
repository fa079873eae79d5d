import Table from 'cli-table3'

/** Prints rows under a head, with numbers aligned to the right. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const table = new Table({
    head: [...head],
    style: { head: [], border: [] },
    colAligns: head.map((_, column) => (column === 0 ? 'left' : 'right')),
  })
  for (const row of rows) table.push([...row])
  console.log(table.toString())
}
