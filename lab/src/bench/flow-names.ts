import { createHash } from 'node:crypto'

/**
 * `count` distinct names of 36 characters in a fixed, shuffled order: the length and look of API keys. In one piece, as
 * an HTTP parser makes them; engines keep a joined string as its parts, and read those more slowly.
 */
export function flowNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const hex = createHash('md5').update(`flow ${i}`).digest('hex')
    const name = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
    return Buffer.from(name).toString('latin1')
  })
}
