import { type ChildProcess, execFile } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Longest time until a server answers, and the interval of attempts. */
const WATCHDOG_MS = 30_000
const POLL_MS = 20

/** Waits until an attempt at a server that was just started succeeds. */
export async function until(child: ChildProcess, name: string, attempt: () => Promise<void>): Promise<void> {
  const endMs = performance.now() + WATCHDOG_MS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (child.exitCode !== null) throw new Error(`${name} ended with status ${child.exitCode}`, { cause: error })
      if (performance.now() > endMs) throw new Error(`${name} did not answer`, { cause: error })
    }
    await pause(POLL_MS)
  }
}

/** Finds a program, or installs Debian's if permitted. */
export async function programOf(name: string, debian: string, advice: string): Promise<string> {
  const found = find(name)
  if (found !== undefined) return found
  if (process.getuid?.() === 0) {
    // Other tests may install packages at the same time.
    const install = ['-o', 'DPkg::Lock::Timeout=60', 'install', '-y', '--no-install-recommends', debian]
    await promisify(execFile)('apt-get', install).catch(() => {})
    const installed = find(name)
    if (installed !== undefined) return installed
  }
  throw new Error(`${name} is not installed: apt-get install ${debian}, ${advice}`)
}

function find(name: string): string | undefined {
  for (const folder of [...foldersOfPostgres(), ...(process.env['PATH'] ?? '').split(delimiter)]) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

/** Debian keeps the programs of each version in separate folders. */
function foldersOfPostgres(): string[] {
  const root = '/usr/lib/postgresql'
  try {
    return readdirSync(root).map((version) => join(root, version, 'bin'))
  } catch {
    return []
  }
}
