import { readFile } from 'node:fs/promises'
import { repositoryFrom } from '../config/repository.js'
import { DoormanServer } from '../server/index.js'
import { UsageError } from './flags.js'

/** Says what a server would do with the configuration in a file. Rejects with what is wrong in it. */
export async function check([path, ...rest]: readonly string[], print: (line: string) => void): Promise<void> {
  if (path === undefined || rest.length > 0) throw new UsageError('--check needs one file')
  const repository = repositoryFrom(await readFile(path, 'utf8'))
  // A server checks more than the form.
  new DoormanServer({ id: 'check', repository }).close()
  for (const { identifierGlob, capacity, algorithm } of repository.resources) {
    const { kind, leaseLength, refreshInterval } = algorithm
    print(`${identifierGlob}: ${capacity}, ${kind}, leases of ${leaseLength} s, refreshed each ${refreshInterval} s`)
  }
  print(`${path} is right`)
}
