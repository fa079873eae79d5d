import { cpus, totalmem } from 'node:os'

/** The machine of the figures, in a line. `node` is the version of the Node that was measured. */
export function machine(node: string = process.version): string {
  const processors = cpus()
  const model = processors[0]?.model.trim() || 'unknown processor'
  const memory = Math.round(totalmem() / 2 ** 30)
  const system = `${process.platform} ${process.arch}`
  return `${model}, ${processors.length} cores, ${memory} GiB, ${system}, Node.js ${node.replace(/^v/, '')}`
}
