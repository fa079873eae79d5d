import { readFile } from 'node:fs/promises'
import { Pause } from '../etcd/pause.js'
import { type EtcdPlace, WatchedKey } from '../etcd/watched-key.js'

/** Where the text of a configuration is. */
export interface ConfigSource {
  /** The text as it is now. Rejects when it cannot be had. */
  read(): Promise<string>
  /** Fulfilled when it may have changed, and after a while in any case. */
  changed(): Promise<void>
  /** Ends the wait for a change, because somebody knows of one. */
  wake(): void
  /** Ends the wait, and everything else. */
  close(): void
}

/** Between two looks at a file. Not by its directory: a path may be links to links, as those of Kubernetes are. */
const FILE_LOOK_MS = 500
/** Between two looks at a key that is watched as well. */
const KEY_LOOK_MS = 10_000
const ETCD_DEADLINE_MS = 5_000

/** `file:PATH`, just the path, or `etcd:KEY`. */
export function configSource(where: string, etcd: EtcdPlace): ConfigSource {
  if (where.startsWith('etcd:')) return inEtcd(new WatchedKey(etcd, where.slice(5), ETCD_DEADLINE_MS))
  return inFile(where.startsWith('file:') ? where.slice(5) : where)
}

function inFile(path: string): ConfigSource {
  const pause = new Pause()
  return {
    read: () => readFile(path, 'utf8'),
    changed: () => pause.for(FILE_LOOK_MS),
    wake: () => pause.wake(),
    close: () => pause.wake(),
  }
}

function inEtcd(key: WatchedKey): ConfigSource {
  return {
    async read() {
      const kv = await key.read()
      if (kv === undefined) throw new Error(`there is no key ${key.key} in etcd`)
      return kv.value.toString()
    },
    changed: () => key.changed(KEY_LOOK_MS),
    wake: () => key.wake(),
    close() {
      key.close()
      key.wake()
    },
  }
}
